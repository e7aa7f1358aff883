// One session in a few variables, for tests of decisions: what an adapter does around them, without a store.

import { randomUUID } from "node:crypto";
import type { ActionRecord, AskedAction } from "../action.ts";
import type { JsonValue } from "../json.ts";
import { toWireMessage, type MessageRecord, type ToolCallRecord } from "../message.ts";
import type { NumberedEvent } from "../session-event.ts";
import { newSession, type SessionRecord } from "../session.ts";
import {
  LEASE_MS,
  NO_USAGE,
  type Lease,
  type OpenTurn,
  type StartedTurn,
  type StepRecord,
  type TurnRecord,
} from "../turn.ts";
import { decideAction, decideExpiry, type ActionAnswer, type ActionOutcome } from "./actions.ts";
import { decideWait } from "./asking.ts";
import { decideChat, type ChatFacts, type ChatInput, type ChatOutcome } from "./chat.ts";
import { SessionDraft } from "./draft.ts";
import { decideInterrupt, type PartialText } from "./interrupt.ts";
import { plainChat } from "./plain-chat.suite.ts";
import { ranUnder } from "./run-time.ts";
import { decideFailure, decideLastStep, decideStepWithCalls, turnThatWrites } from "./turn-progress.ts";
import { decideClaim } from "./turns.ts";

export const RIGS = ["demo/assistant", "other/model"] as const;
/** The time of the first decision, in milliseconds since the epoch; each takes one more. */
const START = Date.UTC(2026, 0, 1);

export class DecidedSession {
  session: SessionRecord = newSession(
    7,
    "8f14e45f-ceea-467f-a0e6-b6f3c6a7d111",
    { life: "abc", model: RIGS[0] },
    START,
  );
  messages: MessageRecord[] = [];
  actions: ActionRecord[] = [];
  turns: TurnRecord[] = [];
  events: NumberedEvent[] = [];
  /** The draft of the last decision. */
  last: SessionDraft = new SessionDraft(this.session, START, () => 0);
  owner: string | null = null;
  lease: Lease | null = null;
  at = START;
  #epoch = 0;

  get openTurns(): readonly OpenTurn[] {
    return this.turns
      .filter(({ endedAt }) => endedAt === null)
      .map((turn) => ({
        turn,
        userMessage: this.#message(turn.userPosition),
        agentMessage: turn.agentPosition === null ? null : this.#message(turn.agentPosition),
        actions: this.actions.filter((action) => action.turn === turn.number && action.status === "pending"),
      }));
  }

  /** Each message as `role status: content`. */
  get lines(): string[] {
    return this.messages.map(({ role, status, content }) => `${role} ${status}: ${content}`);
  }

  get types(): string[] {
    return this.last.events.map(({ event }) => event.type);
  }

  /** Codes of the notices that the last decision gave. */
  get notices(): string[] {
    return this.last.events.flatMap(({ event }) => (event.type === "system_notice" ? [event.code] : []));
  }

  /** Decides, and keeps what the draft holds unless `isRejected`. */
  change<Outcome>(
    decide: (draft: SessionDraft) => Outcome,
    isRejected: (outcome: Outcome) => boolean = () => false,
  ): Outcome {
    this.at += 1;
    const draft = new SessionDraft(this.session, this.at, () => (this.#epoch += 1));
    const outcome = decide(draft);
    this.last = draft;
    if (!isRejected(outcome)) this.#keep(draft);
    return outcome;
  }

  chat(text: string, input: Partial<ChatInput> = {}, facts: Partial<ChatFacts> = {}): ChatOutcome {
    const whole: ChatInput = {
      ...plainChat(text, RIGS),
      claim: { owner: "me", agentMessageId: randomUUID() },
      ...input,
    };
    const { openTurns } = this;
    const waits = openTurns.some(({ turn }) => turn.state === "waiting");
    const interrupted = { openTurns, checkpointed: null };
    const all = { openTurns: openTurns.length, waits, interrupted, previous: null, ...facts };
    return this.change(
      (draft) => decideChat(draft, all, whole),
      ({ kind }) => kind === "rejected",
    );
  }

  /** A chat whose turn starts at once. */
  start(text: string, input: Partial<ChatInput> = {}): StartedTurn {
    const outcome = this.chat(text, input);
    if (outcome.kind !== "accepted" || outcome.started === null) throw new Error("The turn did not start");
    return outcome.started;
  }

  /** Claims the turn that is runnable. */
  claim(): StartedTurn | null {
    const { openTurns } = this;
    const open = openTurns.find(({ turn }) => turn.runnable);
    if (open === undefined) throw new Error("No turn is runnable");
    return this.change((draft) =>
      decideClaim(draft, openTurns, open, { owner: "me", agentMessageId: randomUUID() }, RIGS),
    );
  }

  /** The lease of the running turn has run out, as a store's sweep finds. */
  loseOwner(): void {
    const ranMs = ranUnder(this.lease, this.at);
    this.owner = null;
    this.lease = null;
    this.turns = this.turns.map((turn) =>
      turn.state === "running" ? { ...turn, runnable: true, ranMs: turn.ranMs + ranMs } : turn,
    );
  }

  interrupt(...texts: readonly (PartialText | null)[]): void {
    this.change((draft) => decideInterrupt(draft, this.openTurns, texts));
  }

  /** What the running turn writes; `false` when it may not write any more. */
  write(
    turn: StartedTurn,
    decide: (draft: SessionDraft, open: OpenTurn & { agentMessage: MessageRecord }) => void,
  ): boolean {
    return this.change((draft) => {
      const open = turnThatWrites(draft.session, this.openTurns, turn, { lease: this.lease, at: draft.at });
      if (open !== null) decide(draft, open);
      return open !== null;
    });
  }

  /** A step with calls, some of which ask. */
  callTools(
    turn: StartedTurn,
    text: string,
    calls: readonly ToolCallRecord[],
    asked: readonly AskedAction[] = [],
  ): boolean {
    return this.write(
      turn,
      (draft, open) => void decideStepWithCalls(draft, open, step(open.turn.steps + 1, text), calls, asked),
    );
  }

  /** The turn has nothing left to run but waits; `null` when it may not write any more. */
  wait(turn: StartedTurn): "waits" | "runnable" | null {
    return this.change((draft) => {
      const open = turnThatWrites(draft.session, this.openTurns, turn, { lease: this.lease, at: draft.at });
      return open === null ? null : decideWait(draft, open, this.openTurns, this.lease);
    });
  }

  /** A person decides. */
  decide(id: string, decision: ActionAnswer["decision"], result: JsonValue = null): ActionOutcome {
    const action = this.actions.find((action) => action.id === id) ?? null;
    return this.change(
      (draft) => decideAction(draft, this.openTurns, action, { decision, result }),
      ({ kind }) => kind !== "decided" && kind !== "expired",
    );
  }

  /** So much time passes, and what is due then counts as denied. */
  expire(ms: number): number {
    this.at += ms;
    return this.change((draft) => decideExpiry(draft, this.openTurns));
  }

  complete(turn: StartedTurn, text: string, finishReason = "stop"): boolean {
    return this.write(turn, (draft, open) =>
      decideLastStep(draft, this.openTurns, open, { ...step(open.turn.steps + 1, text), finishReason }),
    );
  }

  fail(turn: StartedTurn, text: string): boolean {
    return this.write(turn, (draft, open) =>
      decideFailure(draft, this.openTurns, open, text, { code: "model_error", message: "It failed." }),
    );
  }

  /** The messages as the events alone tell them. */
  foldedMessages(): unknown[] {
    const folded = new Map<string, unknown>();
    for (const { event } of this.events) {
      if (
        event.type === "message_created" ||
        event.type === "message_updated" ||
        event.type === "message_completed"
      ) {
        folded.set(event.message.id, event.message);
      }
    }
    return [...folded.values()];
  }

  wireMessages(): unknown[] {
    return this.messages.map(toWireMessage);
  }

  #keep(draft: SessionDraft): void {
    this.session = draft.session;
    this.messages = [...this.messages, ...draft.addedMessages].map(
      (message) => draft.changedMessages.get(message.position) ?? message,
    );
    this.turns = [...this.turns, ...draft.addedTurns].map(
      (turn) => draft.changedTurns.get(turn.number) ?? turn,
    );
    this.actions = [...this.actions, ...draft.addedActions].map(
      (action) => draft.changedActions.get(action.id) ?? action,
    );
    this.events.push(...draft.events);
    const { at, lease } = draft;
    if (lease === null) return;
    this.owner = lease.kind === "taken" ? lease.owner : null;
    this.lease = lease.kind === "taken" ? { takenAt: at, expiresAt: at + LEASE_MS } : null;
  }

  #message(position: number): MessageRecord {
    const message = this.messages[position - 1];
    if (message === undefined) throw new Error(`There is no message at ${position}`);
    return message;
  }
}

export function step(number: number, text: string): StepRecord {
  const usage = { ...NO_USAGE, inputTokens: 10, outputTokens: 1, totalTokens: 11 };
  return { number, text, parts: [{ type: "text", text }], usage, finishReason: "stop" };
}

export function call(
  id: string,
  effect: ToolCallRecord["effect"] = "read",
  input: JsonValue = {},
): ToolCallRecord {
  return { id, name: `tool_${id}`, arguments: input, status: "running", effect, step: 1 };
}

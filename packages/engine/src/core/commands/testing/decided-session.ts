// One session in memory for tests of commands. Does what a store does around a command, without a database.

import { randomUUID } from "node:crypto";
import type { ActionRecord, NewAction } from "../../action.ts";
import type { FileRecord } from "../../file.ts";
import type { JsonValue } from "../../json.ts";
import { toWireMessage, type MessageRecord, type ToolCallRecord } from "../../message.ts";
import type { NumberedEvent } from "../../session-event.ts";
import { appOf, newSession, type SessionRecord } from "../../session.ts";
import {
  LEASE_MS,
  NO_USAGE,
  type Lease,
  type OpenTurn,
  type StartedTurn,
  type StepRecord,
  type TurnIdentity,
  type TurnRecord,
  ranUnder,
} from "../../turn.ts";
import type { ChatInput, ChatOutcome } from "../chat.ts";
import type { PartialText, StoredFacts, Tail } from "../command.ts";
import { decideCommand } from "../decide.ts";
import type { CommandKind, InputOf, OutcomeOf, SessionCommand } from "../index.ts";
import { SessionDraft, type Removal, type UsedKey } from "../draft.ts";
import { plainChat } from "@colloquy/testing/internal/store/fixtures/plain-chat";
import type { ActionAnswer, ActionOutcome } from "../decide-action.ts";
import type { ToolOutcomeInput } from "../call-results.ts";

export const RIGS = ["demo/assistant", "other/model"] as const;
/** Time of the first command, in milliseconds since the epoch; each command advances it by one. */
const START = Date.UTC(2026, 0, 1);

export class DecidedSession {
  session: SessionRecord = newSession(
    7,
    "8f14e45f-ceea-467f-a0e6-b6f3c6a7d111",
    { incarnation: "abc", model: RIGS[0] },
    START,
  );
  messages: MessageRecord[] = [];
  actions: ActionRecord[] = [];
  /** Files that every command reads. */
  files: FileRecord[] = [];
  turns: TurnRecord[] = [];
  events: NumberedEvent[] = [];
  /** Number of the last event that is no longer stored. */
  floor = 0;
  /** The draft of the last command. */
  last: SessionDraft = new SessionDraft(this.session, START, () => 0);
  owner: string | null = null;
  lease: Lease | null = null;
  at = START;
  #checkpointed: PartialText | null = null;
  #previous: UsedKey | null = null;
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

  /** Codes of the notices of the last command. */
  get notices(): string[] {
    return this.last.events.flatMap(({ event }) => (event.type === "system_notice" ? [event.code] : []));
  }

  /** Changes the session without a command. */
  change<Outcome>(decide: (draft: SessionDraft) => Outcome): Outcome {
    const draft = this.#draft();
    const outcome = decide(draft);
    this.#keep(draft);
    return outcome;
  }

  /** Runs a command of the session, and keeps its draft if it is committed. */
  run<K extends CommandKind>(kind: K, input: InputOf<K>): OutcomeOf<K> {
    const target = { session: this.session.id, birth: null, load: false, access: null };
    const outcome: unknown = this.#execute(kind, target, input);
    return outcome as OutcomeOf<K>;
  }

  /** Runs a command of a turn; `null` if the turn may no longer write. */
  write<K extends CommandKind>(turn: TurnIdentity, kind: K, input: InputOf<K>): OutcomeOf<K> | null {
    return this.#execute(kind, { turn }, input);
  }

  /** `previous` is the stored chat with the same idempotency key. */
  chat(
    text: string,
    input: Partial<ChatInput> = {},
    { previous = null }: { readonly previous?: UsedKey | null } = {},
  ): ChatOutcome {
    this.#previous = previous;
    return this.run("chat", {
      ...plainChat(text, RIGS),
      claim: { owner: "me", agentMessageId: randomUUID() },
      ...input,
    });
  }

  /** Sends a chat whose turn starts at once. */
  start(text: string, input: Partial<ChatInput> = {}): StartedTurn {
    const outcome = this.chat(text, input);
    if (outcome.kind !== "accepted" || outcome.started === null) throw new Error("The turn did not start");
    return outcome.started;
  }

  /** Claims the runnable turn. */
  claim(): StartedTurn | null {
    const open = this.openTurns.find(({ turn }) => turn.runnable);
    if (open === undefined) throw new Error("No turn is runnable");
    const started = this.run("claimTurn", {
      turn: open.turn.number,
      owner: "me",
      agentMessageId: randomUUID(),
      fullProviders: [],
      models: { [appOf(this.session)]: RIGS },
    });
    if (started === "skipped") throw new Error("The turn was not claimed");
    return started;
  }

  /** Releases the expired lease of the running turn, as a store's sweep does. */
  loseOwner(): void {
    const ranMs = ranUnder(this.lease, this.at);
    this.owner = null;
    this.lease = null;
    this.turns = this.turns.map((turn) =>
      turn.state === "running" ? { ...turn, runnable: true, ranMs: turn.ranMs + ranMs } : turn,
    );
  }

  /** `turn` is that of the message that the title is about. */
  finishTitle(title: string, turn = this.messages[0]?.turn ?? 0): void {
    const target = { session: this.session.id, incarnation: this.session.incarnation };
    this.#execute("finishTitle", target, { title, turn });
  }

  interrupt(streamed: PartialText | null = null, checkpointed: PartialText | null = null): void {
    this.#checkpointed = checkpointed;
    this.run("interrupt", { streamed });
    this.#checkpointed = null;
  }

  /** Stores a step with calls, some of which need a decision. */
  callTools(
    turn: StartedTurn,
    text: string,
    calls: readonly ToolCallRecord[],
    actions: readonly NewAction[] = [],
  ): boolean {
    const number = (this.openTurns[0]?.turn.steps ?? 0) + 1;
    return this.write(turn, "stepWithCalls", { step: step(number, text), calls, actions }) !== null;
  }

  /** Suspends the turn until its actions are decided; `null` if it may no longer write. */
  wait(turn: StartedTurn): "waits" | "runnable" | null {
    return this.write(turn, "wait", null);
  }

  /** Begins the turn's next step. Returns its agent message; `null` if it may no longer write. */
  beginStep(turn: StartedTurn): MessageRecord | null {
    const next = (this.openTurns[0]?.turn.steps ?? 0) + 1;
    return this.write(turn, "beginStep", { step: next, agentMessageId: randomUUID() });
  }

  startCalls(turn: StartedTurn, callIds: readonly string[]): boolean {
    return this.write(turn, "startCalls", { callIds }) !== null;
  }

  result(turn: StartedTurn, outcome: ToolOutcomeInput, starts: readonly string[] = []): boolean {
    return this.write(turn, "toolResult", { outcome, starts }) !== null;
  }

  /** Decides an action. */
  decide(action: string, decision: ActionAnswer["decision"], result: JsonValue = null): ActionOutcome {
    return this.run("decideAction", { action, decision, result });
  }

  /** Advances the time and expires the due actions. Returns their number. */
  expire(ms: number): number {
    this.at += ms;
    const outcome = this.run("expireActions", null);
    return outcome === "skipped" ? 0 : outcome.unblocked;
  }

  complete(turn: StartedTurn, text: string, finishReason = "stop"): boolean {
    const number = (this.openTurns[0]?.turn.steps ?? 0) + 1;
    return this.write(turn, "complete", { step: { ...step(number, text), finishReason } }) !== null;
  }

  /** Stores a step whose text is not shown. */
  reject(turn: StartedTurn, text: string): boolean {
    const number = (this.openTurns[0]?.turn.steps ?? 0) + 1;
    return this.write(turn, "rejectStep", { step: { ...step(number, text), text: "" } }) !== null;
  }

  fail(turn: StartedTurn, text: string): boolean {
    const failure = { code: "model_error", message: "It failed." } as const;
    return this.write(turn, "fail", { text, failure }) !== null;
  }

  /** Returns the messages folded from the events alone. */
  foldedMessages(): unknown[] {
    const folded = new Map<string, unknown>();
    for (const { event } of this.events) {
      if (
        event.type === "message_created" ||
        event.type === "message_updated" ||
        event.type === "message_completed"
      ) {
        folded.set(event.message.id, event.message);
      } else if (event.type === "messages_removed") {
        const ids = [...folded.keys()];
        for (const id of ids.slice(ids.indexOf(event.from))) folded.delete(id);
      }
    }
    return [...folded.values()];
  }

  wireMessages(): unknown[] {
    return this.messages.map(toWireMessage);
  }

  #execute<K extends CommandKind>(kind: K, target: object, input: InputOf<K>): OutcomeOf<K> | null {
    const draft = this.#draft();
    const command = { kind, target, input } as unknown as SessionCommand;
    const decision = decideCommand(command, draft, this.#facts(command), draft.at);
    if (decision === null) return null;
    if (decision.disposition === "commit") this.#keep(draft);
    return decision.outcome as OutcomeOf<K>;
  }

  #draft(): SessionDraft {
    this.at += 1;
    this.last = new SessionDraft(this.session, this.at, () => (this.#epoch += 1));
    return this.last;
  }

  #facts({ kind, input }: SessionCommand): StoredFacts {
    const { openTurns } = this;
    return {
      turnCount: () => ({
        openTurns: openTurns.length,
        waits: openTurns.some(({ turn }) => turn.state === "waiting"),
      }),
      openTurns: () => openTurns,
      checkpointed: () => this.#checkpointed,
      files: () => this.files,
      idempotencyKey: () => this.#previous,
      action: () =>
        kind === "decideAction" || kind === "claimAction"
          ? (this.actions.find(({ id }) => id === input.action) ?? null)
          : null,
      message: () =>
        kind === "giveFeedback" ? (this.messages.find(({ id }) => id === input.messageId) ?? null) : null,
      tail: () => this.#tail(kind === "chat" ? (input.replaces ?? input.messageId) : null),
      firstTurn: () => this.messages[0]?.turn ?? null,
      origin: () => null,
      lease: () => this.lease,
    };
  }

  #tail(id: string | null): Tail {
    const from = this.messages.find((message) => message.id === id)?.position ?? Number.POSITIVE_INFINITY;
    const turns = this.turns.filter(
      ({ userPosition, agentPosition }) => userPosition >= from || (agentPosition ?? 0) >= from,
    );
    const numbers = new Set(turns.map(({ number }) => number));
    return {
      messages: this.messages.filter(({ position, turn }) => position >= from || numbers.has(turn)),
      turns,
    };
  }

  #remove({ position, turns, cut }: Removal): void {
    const gone = new Set([...turns, ...cut.map(({ turn }) => turn)]);
    this.messages = this.messages.filter((message) => message.position < position);
    this.turns = this.turns.filter(({ number }) => !turns.includes(number));
    this.actions = this.actions.filter(({ turn }) => !gone.has(turn));
  }

  #keep(draft: SessionDraft): void {
    this.session = draft.session;
    if (draft.removal !== null) this.#remove(draft.removal);
    this.floor = draft.floor ?? this.floor;
    this.messages = [...this.messages, ...draft.addedMessages].map(
      (message) => draft.changedMessages.get(message.position) ?? message,
    );
    const joined = new Set(draft.mergedTurns.map(({ turn }) => turn));
    this.turns = [...this.turns, ...draft.addedTurns]
      .filter(({ number }) => !joined.has(number))
      .map((turn) => draft.changedTurns.get(turn.number) ?? turn);
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

// Steering messages. Each waits in its own queued turn until the turn in progress begins another step and
// reads it. If that turn ends first, the message's own turn answers it.

import { type JsonValue, sameJson } from "../json.ts";
import { changeExtras, firstStepOf, isSteering, type MessageRecord, openCalls } from "../message.ts";
import type { SessionRecord } from "../session.ts";
import type { TurnOptions } from "../turn-options.ts";
import type { OpenTurn } from "../turn.ts";
import { defineForTurn } from "./command.ts";
import type { SessionDraft } from "./draft.ts";

/** Outcome of a command of a running turn; `steered` if messages wait to be read at the turn's next step. */
export type TurnOutcome = "ok" | "steered";

/** Returns the outcome of a command that leaves the turn running. */
export function outcomeIn(openTurns: readonly OpenTurn[]): TurnOutcome {
  return openTurns.some(isPending) ? "steered" : "ok";
}

export function isPending({ turn, userMessage }: OpenTurn): boolean {
  return turn.state === "queued" && isSteering(userMessage);
}

/** Options of a chat that its turn must satisfy. */
interface Wishes {
  readonly options: TurnOptions;
  readonly clientId: string | null;
  readonly rig: string | null;
}

/**
 * Returns true if the turn can read a message with these options. They must match the turn's, because its
 * tools, schema, secrets and model are fixed until it ends.
 */
export function canRead(
  { turn }: OpenTurn,
  { options, clientId, rig }: Wishes,
  { model }: Pick<SessionRecord, "model">,
): boolean {
  const { note: _, ...asked } = options;
  return (
    Object.entries(asked).every(([name, value]) =>
      sameJson(value as JsonValue, (turn.options[name as keyof TurnOptions] ?? null) as JsonValue),
    ) &&
    (clientId === null || clientId === turn.clientId) &&
    (rig === null || rig === (turn.model ?? model))
  );
}

/**
 * Moves the pending messages into a turn, oldest first, which reads them from `step` on. Removes their own
 * turns. Returns the number of messages.
 */
export function readPending(
  draft: SessionDraft,
  reader: OpenTurn,
  openTurns: readonly OpenTurn[],
  step: number,
): number {
  const pending = openTurns.filter(isPending);
  for (const { turn, userMessage } of pending) {
    const read = changeExtras(userMessage, { steering: { status: "read", step } });
    const { number } = reader.turn;
    draft.changeMessage(userMessage, { ...read, turn: number, status: "complete" }, "message_updated");
    draft.mergeTurn(turn, number);
  }
  return pending.length;
}

/**
 * After the turn in progress has ended, makes unread messages wait for their own turns, in their places in
 * the queue.
 */
export function releasePending(draft: SessionDraft, openTurns: readonly OpenTurn[]): void {
  for (const { userMessage } of openTurns.filter(isPending)) {
    const released = changeExtras(userMessage, { steering: { status: "own_turn" } });
    draft.changeMessage(userMessage, released, "message_updated");
  }
}

export interface BeginStepInput {
  readonly step: number;
  /** Id for the turn's next agent message, if it needs one. */
  readonly agentMessageId: string;
}

/**
 * Begins a step after the first. If messages are pending, ends the agent message, appends them, and
 * continues the turn in another agent message. Has no effect while a call lacks its result, which must
 * precede the messages, or if the agent message began with this step: a step repeated after a crash must
 * read the same messages.
 */
export const beginStep = defineForTurn(
  (draft, { turn: open, openTurns }, { step, agentMessageId }: BeginStepInput): MessageRecord => {
    const { agentMessage, turn } = open;
    const from = firstStepOf(agentMessage);
    if (from === step || openCalls(agentMessage).length > 0) return agentMessage;
    if (readPending(draft, open, openTurns, step) === 0) return agentMessage;
    const ended = changeExtras(agentMessage, { steps: { from, to: step - 1 } });
    draft.changeMessage(agentMessage, { ...ended, status: "complete" }, "message_completed");
    const next = draft.addMessage({
      id: agentMessageId,
      turn: turn.number,
      role: "assistant",
      content: "",
      status: "streaming",
      toolCalls: [],
      toolResults: [],
      extras: { steps: { from: step } },
    });
    draft.changeTurn({ ...turn, agentPosition: next.position });
    return next;
  },
);

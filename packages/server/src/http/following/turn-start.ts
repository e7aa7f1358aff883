// Determines where the stream of a turn starts: the state of the turn, and the event after which to continue.

import type { Message, Snapshot } from "@colloquy/protocol";
import type { SentMessage } from "@colloquy/engine/internal/core/ports/driving/chat-request";
import type { StreamPosition } from "@colloquy/engine/internal/core/ports/driven/event-hub";
import { formatEventId } from "@colloquy/engine/internal/core/session-event";
import { isLastPart } from "./joined-answer.ts";
import type { TurnState } from "./turn-fold.ts";
import { asText } from "./message-parts.ts";

export interface Start {
  readonly state: TurnState;
  /** Id of the last event that `state` includes. */
  readonly lastEventId: string;
}

/** Returns the start of the turn that is answering; `null` if there is none or `isWanted` rejects its answer. */
export function startInProgress(
  { incarnation, head, isProcessing, streaming, pendingActions }: StreamPosition,
  isWanted: (answer: Message) => boolean = () => true,
): Start | null {
  if (streaming === null || !isWanted(streaming.answer.message)) return null;
  const answer = { ...streaming.answer.message, content: streaming.text };
  const { turn = null } = answer;
  const state = { turn, answers: [answer], pendingActions, isOpen: isProcessing, failure: null };
  return { state, lastEventId: formatEventId(incarnation, head) };
}

/**
 * Returns the start of a turn that has not begun to answer. If `turn` is `null`, the stream follows the next turn
 * that begins to answer.
 */
export function startOfQueued(
  { incarnation, head, isProcessing, pendingActions }: StreamPosition,
  turn: number | null,
): Start {
  const state = { turn, answers: [], pendingActions, isOpen: isProcessing, failure: null };
  return { state, lastEventId: formatEventId(incarnation, head) };
}

/**
 * Returns the start of the turn of a message that has just been stored; `null` if it must be read, because it may have
 * ended.
 */
export function startOfSent({ turn, isRepeat, position }: SentMessage): Start | null {
  if (isRepeat) return null;
  // The position has only the last message of an answer.
  const begun = startInProgress(position, (answer) => answer.turn === turn && answer.steps === undefined);
  if (begun !== null) return begun;
  const current = position.streaming?.answer.message.turn ?? 0;
  return position.isProcessing && current < turn ? startOfQueued(position, turn) : null;
}

/**
 * Returns the start of the turn of a message, even if the turn has ended; `null` if no message is wanted. If it is an
 * agent message, the answer begins with it.
 */
export function startOfAny(snapshot: Snapshot, isWanted: (message: Message) => boolean): Start | null {
  const { messages, pending_actions: pendingActions, is_processing, last_event_id: lastEventId } = snapshot;
  const wanted = messages.find(isWanted);
  const turn = wanted?.turn;
  if (wanted === undefined || turn === undefined) return null;
  const ofTurn = messages.filter((message) => message.turn === turn);
  const all = ofTurn.filter(({ sender }) => sender === "agent");
  const answers = all.slice(Math.max(0, all.indexOf(wanted)));
  const answer = answers.at(-1) ?? null;
  // Snapshots omit an answer without content.
  const isOpen =
    answer === null
      ? is_processing && ofTurn.every(({ status }) => status === "queued" || status === "complete")
      : answer.status === "streaming" || !isLastPart(answer);
  const state = { turn, answers, pendingActions, isOpen, failure: failureOf(answer, snapshot) };
  return { state, lastEventId };
}

function failureOf(answer: Message | null, { system_events }: Snapshot): string | null {
  if (answer?.status !== "failed") return null;
  // Events stored by an older version have no turn.
  const event = system_events.find(
    ({ type, created_at, payload: { turn } }) =>
      type === "error" && (turn === undefined ? created_at >= answer.created_at : turn === answer.turn),
  );
  return event === undefined ? null : asText(event.payload["message"]);
}

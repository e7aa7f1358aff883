// Determines the start of a stream: the state of its turn, and the event after which it continues.

import type { Message, Snapshot } from "@colloquy/protocol";
import type { StreamPosition } from "../../core/ports/driven/event-hub.ts";
import type { SnapshotView } from "../../core/ports/driving/services.ts";
import { formatEventId } from "../../core/session-event.ts";
import type { TurnState } from "./followed-turn.ts";
import { asText } from "./message-parts.ts";

export interface Start {
  readonly state: TurnState;
  readonly lastEventId: string;
}

/** Returns the start of the turn in progress; `null` if there is none or `isWanted` rejects its answer. */
export function startInProgress(
  { incarnation, head, isProcessing, streaming, pendingActions }: StreamPosition,
  isWanted: (answer: Message) => boolean = () => true,
): Start | null {
  if (streaming === null || !isWanted(streaming.answer.message)) return null;
  const answer = { ...streaming.answer.message, content: streaming.text };
  const state = { turn: answer.turn ?? null, answer, pendingActions, isOpen: isProcessing, failure: null };
  return { state, lastEventId: formatEventId(incarnation, head) };
}

/**
 * Returns the start of a turn that has not begun to answer. With `turn` `null`, the stream follows the next
 * turn that does.
 */
export function startOfQueued(
  { incarnation, head, isProcessing, pendingActions }: StreamPosition,
  turn: number | null,
): Start {
  const state = { turn, answer: null, pendingActions, isOpen: isProcessing, failure: null };
  return { state, lastEventId: formatEventId(incarnation, head) };
}

/** Returns the start of a turn, which may have ended, by one of its messages; `null` if the session has no such turn. */
export function startOfAny(view: SnapshotView, isWanted: (message: Message) => boolean): Start | null {
  const snapshot = JSON.parse(Buffer.concat(view.parts).toString()) as Snapshot;
  const { messages, pending_actions: pendingActions, is_processing, last_event_id: lastEventId } = snapshot;
  const turn = messages.find(isWanted)?.turn;
  if (turn === undefined) return null;
  const ofTurn = messages.filter((message) => message.turn === turn);
  const answer = ofTurn.find(({ sender }) => sender === "agent") ?? null;
  // Snapshots omit an answer without content.
  const isOpen =
    answer === null
      ? is_processing && ofTurn.every(({ status }) => status === "queued" || status === "complete")
      : answer.status === "streaming";
  const state = { turn, answer, pendingActions, isOpen, failure: failureOf(answer, snapshot) };
  return { state, lastEventId };
}

function failureOf(answer: Message | null, { system_events }: Snapshot): string | null {
  if (answer?.status !== "failed") return null;
  const event = system_events.find(
    ({ type, created_at }) => type === "error" && created_at >= answer.created_at,
  );
  return event === undefined ? null : asText(event.payload["message"]);
}

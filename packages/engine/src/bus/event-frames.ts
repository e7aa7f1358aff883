// Builds the frames of an event stream: events, heartbeats, and notices for one stream.

import type {
  IncludeGroup,
  MessageDelta,
  NoticeCode,
  NoticeLevel,
  PendingAction,
  ReasoningDelta,
  UpdateEvent,
} from "@colloquy/protocol";
import { actionNotice } from "../core/action.ts";
import { formatEventId, projectEvent, type NumberedEvent } from "../core/session-event.ts";
import type { ReasoningPiece } from "../core/ports/driven/bus.ts";
import type { StreamingText } from "../core/ports/driven/event-hub.ts";
import type { StreamFrame } from "../core/ports/driving/services.ts";

export const RETRY_FRAME: StreamFrame = { kind: "retry" };
export const HEARTBEAT_FRAME: StreamFrame = { kind: "heartbeat", id: null };

/** The session and incarnation to which every event of a stream belongs. */
export interface StreamIdentity {
  readonly sessionId: string;
  /** The session id as its creator spelled it; events contain this form. */
  readonly spelling: string;
  readonly incarnation: string;
}

/** Returns the event for a subscriber with these groups; `null` if they exclude it. */
export function eventFrame(
  source: StreamIdentity,
  { number, event }: NumberedEvent,
  included: ReadonlySet<IncludeGroup>,
): StreamFrame | null {
  const shown = projectEvent(event, included);
  return shown === null ? null : frame(source, shown.type, shown, number);
}

/** Returns a delta frame without an id, so that a client resumes after the last committed event. */
export function deltaFrame(source: StreamIdentity, delta: Omit<MessageDelta, "type">): StreamFrame {
  return frame(source, "message_delta", delta);
}

/** Returns a frame with reasoning of the running model call. It has no id, because the reasoning is not committed. */
export function reasoningFrame(
  source: StreamIdentity,
  { messageId, step, offset, text }: ReasoningPiece,
): StreamFrame {
  const delta: Omit<ReasoningDelta, "type"> = { message_id: messageId, step, offset, text };
  return frame(source, "reasoning_delta", delta);
}

/** Returns a frame with the full text of a streaming message. It has no id, because the text is not committed. */
export function wholeMessageFrame(source: StreamIdentity, { text, answer }: StreamingText): StreamFrame {
  const { message, index } = answer;
  return frame(source, "message_updated", { message: { ...message, content: text }, index });
}

/** Returns a notice for this stream only, with the id of `head` if the client must resume from there. */
export function noticeFrame(
  source: StreamIdentity,
  notice: { readonly message: string; readonly level: NoticeLevel; readonly code: NoticeCode },
  head: number | null = null,
): StreamFrame {
  return frame(source, "system_notice", notice, head);
}

/** Returns a heartbeat that moves the client's position past filtered events. */
export function positionFrame({ incarnation }: StreamIdentity, number: number): StreamFrame {
  return { kind: "heartbeat", id: formatEventId(incarnation, number) };
}

/** Returns the `resync` notice: the events after the client's id are unavailable, and the stream starts after `head`. */
export function resyncFrame(source: StreamIdentity, head: number): StreamFrame {
  const message = "Events after your Last-Event-ID are not available. Fetch the session's state again.";
  return noticeFrame(source, { message, level: "info", code: "resync" }, head);
}

/** Returns the notices about the session's pending actions for a new stream. */
export function pendingActionFrames(
  source: StreamIdentity,
  pending: readonly PendingAction[],
): readonly StreamFrame[] {
  return pending.map((action) =>
    noticeFrame(source, { message: actionNotice(action), level: "info", code: "action_requested" }),
  );
}

function frame(
  { spelling, incarnation }: StreamIdentity,
  type: UpdateEvent["type"],
  fields: object,
  number: number | null = null,
): StreamFrame {
  const id = number === null ? null : formatEventId(incarnation, number);
  // The cast is safe because callers pass the fields of `type`. On the wire, `session_id` follows `type`.
  return { kind: "event", id, event: { type, session_id: spelling, ...fields } as UpdateEvent };
}

// Formats events as server-sent events (WHATWG HTML): one JSON per `data:` line, `id:` only for numbered
// events, no `event:`.

import type { IncludeGroup, MessageDelta, NoticeCode, NoticeLevel, PendingAction } from "@colloquy/protocol";
import { actionNotice } from "../core/action.ts";
import { formatEventId, projectEvent, type NumberedEvent } from "../core/session-event.ts";
import type { StreamingText } from "../core/ports/driven/event-hub.ts";

export const RETRY_FRAME = Buffer.from("retry: 2000\n\n");
export const HEARTBEAT_FRAME = Buffer.from(": heartbeat\n\n");

/** The session and incarnation to which every event of a stream belongs. */
export interface StreamIdentity {
  readonly sessionId: string;
  /** The session id as its creator spelled it; events contain this form. */
  readonly spelling: string;
  readonly incarnation: string;
}

/** Formats the event for a subscriber with these groups; returns `null` if they exclude it. */
export function eventFrame(
  source: StreamIdentity,
  { number, event }: NumberedEvent,
  included: ReadonlySet<IncludeGroup>,
): Buffer | null {
  const shown = projectEvent(event, included);
  if (shown === null) return null;
  return Buffer.from(
    `id: ${formatEventId(source.incarnation, number)}\ndata: ${withSession(source, event.type, shown)}\n\n`,
  );
}

/** Formats a delta. It has no id, so a client that resumes asks for the events before it. */
export function deltaFrame(source: StreamIdentity, delta: Omit<MessageDelta, "type">): Buffer {
  return Buffer.from(`data: ${withSession(source, "message_delta", delta)}\n\n`);
}

/** Formats the whole agent message that streams. It has no id, because its text is not committed. */
export function wholeMessageFrame(source: StreamIdentity, { text, answer }: StreamingText): Buffer {
  const { message, index } = answer;
  const fields = { message: { ...message, content: text }, index };
  return Buffer.from(`data: ${withSession(source, "message_updated", fields)}\n\n`);
}

/** Formats a notice for this stream only, with the id of `head` if the client must resume from there. */
export function noticeFrame(
  source: StreamIdentity,
  notice: { readonly message: string; readonly level: NoticeLevel; readonly code: NoticeCode },
  head: number | null = null,
): Buffer {
  const id = head === null ? "" : `id: ${formatEventId(source.incarnation, head)}\n`;
  return Buffer.from(`${id}data: ${withSession(source, "system_notice", notice)}\n\n`);
}

/** Formats a heartbeat that advances the client's `Last-Event-ID` past filtered events. */
export function positionFrame(source: StreamIdentity, number: number): Buffer {
  return Buffer.from(`: heartbeat\nid: ${formatEventId(source.incarnation, number)}\n\n`);
}

function withSession(source: StreamIdentity, type: string, fields: object): string {
  return JSON.stringify({ type, session_id: source.spelling, ...fields });
}

/** Formats the `resync` notice: events after the client's id are gone; the stream starts after `head`. */
export function resyncFrame(source: StreamIdentity, head: number): Buffer {
  const message = "Events after your Last-Event-ID are not available. Fetch the session's state again.";
  return noticeFrame(source, { message, level: "info", code: "resync" }, head);
}

/** Formats the notices about the session's pending actions for a new stream. */
export function pendingActionsFrame(source: StreamIdentity, pending: readonly PendingAction[]): Buffer {
  const notices = pending.map((action) => {
    const message = actionNotice(action);
    return noticeFrame(source, { message, level: "info", code: "action_requested" });
  });
  return Buffer.concat(notices);
}

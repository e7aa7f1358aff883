// Events as text of the stream (WHATWG HTML, "Server-sent events"): one JSON per `data:` line, `id:` where there is one, no `event:`.

import type { IncludeGroup, MessageDelta, NoticeLevel } from "@colloquy/protocol";
import { formatEventId } from "../core/event-id.ts";
import { projectEvent, type NumberedEvent } from "../core/session-event.ts";

export const RETRY_TEXT = Buffer.from("retry: 2000\n\n");
export const HEARTBEAT_TEXT = Buffer.from(": heartbeat\n\n");

/** A session in a life: what every event of a stream belongs to. */
export interface EventSource {
  readonly sessionId: string;
  readonly life: string;
}

/** The event for a reader with these groups, `null` when it is not for them. */
export function eventText(
  source: EventSource,
  { number, event }: NumberedEvent,
  included: ReadonlySet<IncludeGroup>,
): Buffer | null {
  const shown = projectEvent(event, included);
  if (shown === null) return null;
  return Buffer.from(
    `id: ${formatEventId(source.life, number)}\ndata: ${withSession(source, event.type, shown)}\n\n`,
  );
}

/** Text that an agent message has grown by; it has no id, so a client that resumes asks for what came before. */
export function deltaText(source: EventSource, delta: Omit<MessageDelta, "type">): Buffer {
  return Buffer.from(`data: ${withSession(source, "message_delta", delta)}\n\n`);
}

/** A notice that concerns this stream alone; with the id of the log's head when the client shall resume from there. */
export function streamNoticeText(
  source: EventSource,
  notice: { readonly code: string; readonly level: NoticeLevel; readonly message: string },
  head: number | null,
): Buffer {
  const id = head === null ? "" : `id: ${formatEventId(source.life, head)}\n`;
  const { message, level, code } = notice;
  return Buffer.from(`${id}data: ${withSession(source, "system_notice", { message, level, code })}\n\n`);
}

/** Moves a client's `Last-Event-ID` on past events that it was not shown. */
export function positionText(source: EventSource, number: number): Buffer {
  return Buffer.from(`: heartbeat\nid: ${formatEventId(source.life, number)}\n\n`);
}

function withSession(source: EventSource, type: string, fields: object): string {
  return JSON.stringify({ type, session_id: source.sessionId, ...fields });
}

/** Tells a reader whose place in the log is gone to fetch the snapshot; `head`: where its stream begins instead. */
export function resyncText(source: EventSource, head: number): Buffer {
  const message = "Events after your Last-Event-ID are not available. Fetch the session's state again.";
  return streamNoticeText(source, { code: "resync", level: "info", message }, head);
}

// Encodes notifications for transport between nodes: JSON, cut to the size that the transport carries.

import type { SessionNotification } from "../core/ports/driven/bus.ts";

/** Notifications whose text may be sent in pieces. */
type Piece = Extract<SessionNotification, { readonly kind: "delta" | "reasoning" }>;

/**
 * Encodes a notification as texts of at most `maxBytes` UTF-8 bytes each. Events that do not fit become a
 * `moved` hint with the new head; streamed text is split between characters. `text` is the whole notification as
 * JSON.
 */
export function encodeNotification(
  notification: SessionNotification,
  maxBytes: number,
  text: string,
): readonly string[] {
  if (Buffer.byteLength(text) <= maxBytes) return [text];
  if (notification.kind === "events") {
    const hint = toMovedHint(notification);
    return hint === null ? [] : [JSON.stringify(hint)];
  }
  return notification.kind === "delta" || notification.kind === "reasoning"
    ? cutPiece(notification, maxBytes).map((part) => JSON.stringify(part))
    : [];
}

/** Returns the hint that replaces events too large to send, or `null` if there are none. */
export function toMovedHint({
  incarnation,
  epoch,
  events,
}: Extract<SessionNotification, { readonly kind: "events" }>): SessionNotification | null {
  const head = events.at(-1)?.number;
  return head === undefined ? null : { kind: "moved", incarnation, epoch, head };
}

/** Parses a notification. Returns `null` if the text is malformed or its kind is unknown to this version. */
export function parseNotification(text: string): SessionNotification | null {
  let notification: unknown;
  try {
    notification = JSON.parse(text);
  } catch {
    return null;
  }
  return isNotification(notification) ? notification : null;
}

function cutPiece(delta: Piece, maxBytes: number): readonly Piece[] {
  const end = delta.offset + delta.text.length;
  // The end offset has the most digits, so it gives the longest envelope.
  const room = maxBytes - Buffer.byteLength(JSON.stringify({ ...delta, offset: end, text: "" }));
  const parts: Piece[] = [];
  let start = 0;
  let position = 0;
  let bytes = 0;
  const cut = (): void => {
    parts.push({ ...delta, offset: delta.offset + start, text: delta.text.slice(start, position) });
    start = position;
    bytes = 0;
  };
  for (const character of delta.text) {
    const size = jsonBytes(character);
    if (bytes + size > room && position > start) cut();
    bytes += size;
    position += character.length;
  }
  cut();
  return parts;
}

/** Returns the UTF-8 bytes of one character within a JSON string, as JSON.stringify escapes it. */
function jsonBytes(character: string): number {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x20) return "\b\t\n\f\r".includes(character) ? 2 : 6;
  if (code < 0x80) return character === '"' || character === "\\" ? 2 : 1;
  if (code < 0x800) return 2;
  if (code >= 0xd800 && code <= 0xdfff) return 6;
  return code < 0x10000 ? 3 : 4;
}

/** Checks the outermost shape only: the sender is always a node, but a later version may add fields. */
function isNotification(notification: unknown): notification is SessionNotification {
  if (typeof notification !== "object" || notification === null) return false;
  const { kind, incarnation, epoch, events, head, messageId, step, offset, text } = notification as Readonly<
    Record<string, unknown>
  >;
  if (typeof incarnation !== "string") return false;
  if (kind === "deleted" || kind === "text_requested" || kind === "reasoning_requested") return true;
  if (typeof epoch !== "number") return false;
  if (kind === "events") return Array.isArray(events);
  if (kind === "moved") return typeof head === "number";
  return (
    (kind === "delta" || (kind === "reasoning" && typeof step === "number")) &&
    typeof messageId === "string" &&
    typeof offset === "number" &&
    typeof text === "string"
  );
}

// Notes as they travel between nodes: JSON, cut to what the transport carries.

import type { SessionNote } from "../core/ports/bus.ts";

type Delta = Extract<SessionNote, { readonly kind: "delta" }>;

/**
 * The note as texts of at most `maxBytes` bytes in UTF-8 each. Events that do not fit become a hint, which says how far the session has
 * moved; a delta is cut, never inside of a character. `text` is the whole note as JSON.
 */
export function noteTexts(note: SessionNote, maxBytes: number, text: string): readonly string[] {
  if (Buffer.byteLength(text) <= maxBytes) return [text];
  if (note.kind === "events") {
    const hint = movedTo(note);
    return hint === null ? [] : [JSON.stringify(hint)];
  }
  return note.kind === "delta" ? cutDelta(note, maxBytes).map((part) => JSON.stringify(part)) : [];
}

/** What is left to say of events that cannot travel; `null` when there are none. */
export function movedTo({
  life,
  epoch,
  events,
}: Extract<SessionNote, { readonly kind: "events" }>): SessionNote | null {
  const head = events.at(-1)?.number;
  return head === undefined ? null : { kind: "moved", life, epoch, head };
}

/** The note that a text says, or `null` when it says none that this version knows. */
export function parseNote(text: string): SessionNote | null {
  let note: unknown;
  try {
    note = JSON.parse(text);
  } catch {
    return null;
  }
  return isNote(note) ? note : null;
}

function cutDelta(delta: Delta, maxBytes: number): readonly Delta[] {
  const end = delta.offset + delta.text.length;
  // The last offset is the longest one.
  const room = maxBytes - Buffer.byteLength(JSON.stringify({ ...delta, offset: end, text: "" }));
  const parts: Delta[] = [];
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

/** Bytes of one character within a JSON text in UTF-8, as JSON.stringify escapes it. */
function jsonBytes(character: string): number {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x20) return "\b\t\n\f\r".includes(character) ? 2 : 6;
  if (code < 0x80) return character === '"' || character === "\\" ? 2 : 1;
  if (code < 0x800) return 2;
  if (code >= 0xd800 && code <= 0xdfff) return 6;
  return code < 0x10000 ? 3 : 4;
}

/** Looks at the outermost shape alone: whoever may send a note is a node, but one of a later version may say more. */
function isNote(note: unknown): note is SessionNote {
  if (typeof note !== "object" || note === null) return false;
  const { kind, life, epoch, events, head, messageId, offset, text } = note as Readonly<
    Record<string, unknown>
  >;
  if (typeof life !== "string") return false;
  if (kind === "deleted") return true;
  if (typeof epoch !== "number") return false;
  if (kind === "events") return Array.isArray(events);
  if (kind === "moved") return typeof head === "number";
  return (
    kind === "delta" &&
    typeof messageId === "string" &&
    typeof offset === "number" &&
    typeof text === "string"
  );
}

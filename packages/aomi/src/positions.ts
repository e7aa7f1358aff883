// Sequence numbers of events: turn, part and slot. They are fixed, so an event that can no longer be derived, such as
// that of a deleted action, leaves a gap, and the other events keep their numbers.

import { formatEventId, parseEventId } from "@colloquy/server/protocol";
import { cursorExpired, invalidCursor } from "./errors.ts";

/** Maximum number of events of a part, which is a text, a call or a steering message. */
const SLOTS = 8;
const PARTS = 2 ** 21;
const TURN = PARTS * SLOTS;
/** Number of the part for the events that end a turn. */
export const END = PARTS - 1;

export function sequenceOf(turn: number, part: number, slot: number): number {
  return turn * TURN + part * SLOTS + slot;
}

/** Returns the turn of the event with this sequence number. */
export function turnAt(sequence: number): number {
  return Math.floor(sequence / TURN);
}

export function incarnationOf({ last_event_id: id }: { readonly last_event_id: string }): string {
  return id.slice(0, id.lastIndexOf("-"));
}

export function formatTurnId(incarnation: string, turn: number): string {
  return `turn-${formatEventId(incarnation, turn)}`;
}

/** Returns the number of a turn; `null` for an id of another conversation. */
export function parseTurnId(incarnation: string, id: string): number | null {
  const parsed = id.startsWith("turn-") ? parseEventId(id.slice("turn-".length)) : null;
  return parsed?.incarnation === incarnation ? parsed.n : null;
}

type Place = NonNullable<ReturnType<typeof parseEventId>>;

/** Returns the conversation and the sequence number of a cursor; `null` without one. */
export function parseCursor(cursor: string | null | undefined): Place | null {
  if (cursor === null || cursor === undefined || cursor === "") return null;
  const place = parseEventId(cursor);
  if (place === null) throw invalidCursor();
  return place;
}

/** Returns the sequence number of the last event before the cursor; 0 without a cursor. */
export function sequenceAt(incarnation: string, place: Place | null): number {
  if (place === null) return 0;
  if (place.incarnation !== incarnation) throw cursorExpired();
  return place.n;
}

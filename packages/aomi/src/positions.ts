// Numbers of events. Each event has a fixed place in its turn: what is missing when a conversation is read again, such
// as an action that is no longer stored, leaves a gap, and the others keep their numbers.

import { formatEventId, parseEventId } from "@colloquy/server/protocol";
import { cursorExpired, invalidCursor } from "./errors.ts";

/** Events of a part, such as a text or a call. */
const SLOTS = 8;
const PARTS = 2 ** 21;
const TURN = PARTS * SLOTS;
/** The part with the end of a turn. */
export const END = PARTS - 1;

export function sequenceOf(turn: number, part: number, slot: number): number {
  return turn * TURN + part * SLOTS + slot;
}

/** Returns the turn of an event's number. */
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

/** Returns the number of the last event before the cursor; 0 without a cursor. */
export function parseCursor(incarnation: string, cursor: string | null | undefined): number {
  if (cursor === null || cursor === undefined || cursor === "") return 0;
  const parsed = parseEventId(cursor);
  if (parsed === null) throw invalidCursor();
  if (parsed.incarnation !== incarnation) throw cursorExpired();
  return parsed.n;
}

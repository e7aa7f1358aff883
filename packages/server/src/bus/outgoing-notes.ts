// Notes that wait to be sent to the other nodes: bounded, so that a bus that is away costs memory that is known beforehand, and no event.

import type { SessionNote } from "../core/ports/bus.ts";
import { movedTo, noteTexts } from "./note-text.ts";
import type { Packet } from "./transport.ts";

interface Waiting {
  readonly sessionId: string;
  note: SessionNote;
  /** Events as they will travel, because they are told by their size anyway; `null` for what may still change. */
  readonly text: string | null;
  /** About what it takes here. */
  bytes: number;
}

/** Why notes were not sent as they were: too much waited, or the connection broke while they were on their way. */
export type NoteLoss = "deltas" | "events" | "all" | "broken";

export interface OutgoingNotesOptions {
  readonly maxBytes: number;
  /** Is told how many notes were lost, or became hints. */
  readonly onLoss: (loss: NoteLoss, notes: number) => void;
}

/** What an entry takes beside its text, about. */
const ENTRY_BYTES = 200;

export class OutgoingNotes {
  readonly #options: OutgoingNotesOptions;
  #waiting: Waiting[] = [];
  /** The last note of each session that waits: what is said next may go on from it. */
  readonly #last = new Map<string, Waiting>();
  #bytes = 0;

  constructor(options: OutgoingNotesOptions) {
    this.#options = options;
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /** About what waits, in bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  add(sessionId: string, note: SessionNote): void {
    this.#keep(sessionId, note);
    if (this.#bytes > this.#options.maxBytes) this.#shrink();
  }

  /** Takes the first notes, about `batchBytes` of them, as texts of at most `maxBytes` in UTF-8. */
  take(batchBytes: number, maxBytes: number): readonly Packet[] {
    const packets: Packet[] = [];
    let taken = 0;
    let bytes = 0;
    for (const waiting of this.#waiting) {
      if (bytes >= batchBytes) break;
      const { sessionId, note, text: known } = waiting;
      for (const text of noteTexts(note, maxBytes, known ?? JSON.stringify(note)))
        packets.push({ sessionId, text });
      if (this.#last.get(sessionId) === waiting) this.#last.delete(sessionId);
      bytes += waiting.bytes;
      taken += 1;
    }
    this.#waiting.splice(0, taken);
    this.#bytes -= bytes;
    return packets;
  }

  /**
   * Deltas go first, because the store has their text within a moment; then events are left to be looked up there; then everything goes.
   * Down to half, so that it is not done again for each note that comes.
   */
  #shrink(): void {
    const enough = this.#options.maxBytes / 2;
    this.#replace("deltas", (note) => (note.kind === "delta" ? null : note));
    if (this.#bytes > enough)
      this.#replace("events", (note) => (note.kind === "events" ? movedTo(note) : note));
    if (this.#bytes > enough) this.#replace("all", () => null);
  }

  #replace(loss: NoteLoss, replacement: (note: SessionNote) => SessionNote | null): void {
    const before = this.#waiting;
    this.#waiting = [];
    this.#last.clear();
    this.#bytes = 0;
    let lost = 0;
    for (const { sessionId, note } of before) {
      const kept = replacement(note);
      if (kept !== note) lost += 1;
      if (kept !== null) this.#keep(sessionId, kept);
    }
    if (lost > 0) this.#options.onLoss(loss, lost);
  }

  #keep(sessionId: string, note: SessionNote): void {
    const last = this.#last.get(sessionId);
    const joined = last === undefined ? null : join(last.note, note);
    if (last !== undefined && joined !== null) {
      const grown = Buffer.byteLength(textOf(note));
      last.note = joined;
      last.bytes += grown;
      this.#bytes += grown;
      return;
    }
    const text = note.kind === "events" ? JSON.stringify(note) : null;
    const kept = { sessionId, note, text, bytes: ENTRY_BYTES + Buffer.byteLength(text ?? textOf(note)) };
    this.#waiting.push(kept);
    this.#last.set(sessionId, kept);
    this.#bytes += kept.bytes;
  }
}

/** Both notes in one, or `null` when they have to be said one after the other. */
function join(first: SessionNote, second: SessionNote): SessionNote | null {
  if (first.life !== second.life) return null;
  if (first.kind === "moved" && second.kind === "moved") return second;
  if (first.kind !== "delta" || second.kind !== "delta") return null;
  const follows =
    first.epoch === second.epoch &&
    first.messageId === second.messageId &&
    first.offset + first.text.length === second.offset;
  return follows ? { ...first, text: first.text + second.text } : null;
}

function textOf(note: SessionNote): string {
  return note.kind === "delta" ? note.text : "";
}

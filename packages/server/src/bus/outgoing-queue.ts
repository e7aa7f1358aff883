// A bounded queue of notifications to other nodes: when the bus is down, memory stays bounded and no event is
// lost.

import type { SessionNote } from "../core/ports/driven/bus.ts";
import { toMovedHint, encodeNote } from "./note-encoding.ts";
import type { Packet } from "./transport.ts";

interface Waiting {
  readonly sessionId: string;
  note: SessionNote;
  /** Encoded events, needed for their size anyway; `null` for notes that may still be joined. */
  readonly text: string | null;
  /** Approximate memory of the entry. */
  bytes: number;
}

/**
 * Why notifications were not sent unchanged: the queue was full, or the connection broke while they were
 * being sent.
 */
export type NoteLoss = "deltas" | "events" | "all" | "broken";

export interface OutgoingQueueOptions {
  readonly maxBytes: number;
  /** Called with the number of notifications that were lost or replaced by hints. */
  readonly onLoss: (loss: NoteLoss, notes: number) => void;
}

/** Approximate memory of an entry besides its text. */
const ENTRY_BYTES = 200;

export class OutgoingQueue {
  readonly #options: OutgoingQueueOptions;
  #waiting: Waiting[] = [];
  /** The last queued notification of each session, to which the next one may be joined. */
  readonly #last = new Map<string, Waiting>();
  #bytes = 0;

  constructor(options: OutgoingQueueOptions) {
    this.#options = options;
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /** Approximate size of the queue in bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  add(sessionId: string, note: SessionNote): void {
    this.#keep(sessionId, note);
    if (this.#bytes > this.#options.maxBytes) this.#shrink();
  }

  /**
   * Removes about `batchBytes` from the front of the queue, encoded as texts of at most `maxBytes` UTF-8
   * bytes.
   */
  take(batchBytes: number, maxBytes: number): readonly Packet[] {
    const packets: Packet[] = [];
    let taken = 0;
    let bytes = 0;
    for (const waiting of this.#waiting) {
      if (bytes >= batchBytes) break;
      const { sessionId, note, text: known } = waiting;
      for (const text of encodeNote(note, maxBytes, known ?? JSON.stringify(note)))
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
   * Drops deltas first, because the store has their text within 250 ms; then replaces events with hints; then
   * drops everything. Shrinks to half, so that it does not run again for each new notification.
   */
  #shrink(): void {
    const enough = this.#options.maxBytes / 2;
    this.#replace("deltas", (note) => (note.kind === "delta" ? null : note));
    if (this.#bytes > enough)
      this.#replace("events", (note) => (note.kind === "events" ? toMovedHint(note) : note));
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

/** Returns both notifications as one, or `null` if they must be sent separately. */
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

// Detects event streams that are delayed by a buffering proxy.

import { ColloquyError } from "./colloquy-error.ts";
import type { Timer, Timing } from "./timing.ts";
import type { Snapshot } from "./wire.ts";

/**
 * Milliseconds without an event during a turn until the snapshot is fetched. Doubles with each fetch, up to
 * `CHECK_CEILING_MS`.
 */
const CHECK_MS = 5_000;
const CHECK_CEILING_MS = 40_000;
/** Milliseconds for the stream to catch up with a newer snapshot. */
const GRACE_MS = 2_000;

export interface WatchedStream {
  /** Returns the session's state according to the events received so far; `null` before the first snapshot. */
  current(): Snapshot | null;
  /** Fetches the snapshot. Returns `null` if it has not changed since the last fetch. */
  read(): Promise<Snapshot | null>;
  /** Called once, if the stream does not catch up in time. */
  onLate(): void;
  /** Called when the stream catches up with a newer snapshot. */
  onCaughtUp(): void;
}

export function streamDelayed(): ColloquyError {
  const message =
    "Events arrive late because a proxy buffers them. Turn off its buffering for text/event-stream.";
  return new ColloquyError(message, { code: "stream_delayed" });
}

/** Watches one stream from construction until `stop`. */
export class DelayWatch {
  readonly #timing: Timing;
  readonly #stream: WatchedStream;
  #check: Timer | null = null;
  #grace: Timer | null = null;
  /** Latest snapshot that was newer than the stream. */
  #expected: Snapshot | null = null;
  #checkMs = CHECK_MS;
  #isStopped = false;

  constructor(timing: Timing, stream: WatchedStream) {
    this.#timing = timing;
    this.#stream = stream;
    this.#schedule();
  }

  /** Call after each event. */
  onEvent(): void {
    this.#checkMs = CHECK_MS;
    this.#schedule();
  }

  /** Requires the stream to catch up with this snapshot within `GRACE_MS`. */
  expect(snapshot: Snapshot): void {
    if (this.#isStopped || !this.#isBehind(snapshot)) return;
    this.#expected = snapshot;
    this.#grace ??= this.#timing.after(GRACE_MS, () => this.#checkCaughtUp(snapshot));
  }

  stop(): void {
    this.#isStopped = true;
    this.#check?.stop();
    this.#grace?.stop();
  }

  #checkCaughtUp(snapshot: Snapshot): void {
    this.#grace = null;
    if (this.#isBehind(snapshot)) return this.#stream.onLate();
    this.#stream.onCaughtUp();
    if (this.#expected !== null) this.expect(this.#expected);
  }

  #schedule(): void {
    this.#check?.stop();
    this.#check = null;
    if (this.#isStopped || this.#stream.current()?.is_processing !== true) return;
    this.#check = this.#timing.after(this.#checkMs, () => {
      this.#checkMs = Math.min(CHECK_CEILING_MS, this.#checkMs * 2);
      this.#schedule();
      this.check();
    });
  }

  /**
   * Fetches the snapshot now. For use after the device slept: the connection may have broken without an error.
   */
  check(): void {
    void this.#read();
  }

  async #read(): Promise<void> {
    const snapshot = await this.#stream.read();
    if (snapshot !== null) this.expect(snapshot);
  }

  #isBehind(expected: Snapshot): boolean {
    const current = this.#stream.current();
    return current !== null && isBehind(current, expected);
  }
}

/** Returns true if `current` lacks events or streamed text that `expected` has. */
function isBehind(current: Snapshot, expected: Snapshot): boolean {
  const [incarnation, number] = positionOf(current.last_event_id);
  const [expectedIncarnation, expectedNumber] = positionOf(expected.last_event_id);
  // The session was deleted and recreated. The stream reports that itself.
  if (incarnation !== expectedIncarnation) return false;
  if (number !== expectedNumber) return number < expectedNumber;
  const { id, content = "" } = expected.messages.find(({ status }) => status === "streaming") ?? {};
  const known = current.messages.find((message) => message.id === id);
  return known !== undefined && known.content.length < content.length;
}

/** Splits an event id into incarnation and sequence number. */
function positionOf(eventId: string): readonly [incarnation: string, event: number] {
  const at = eventId.lastIndexOf("-");
  return [eventId.slice(0, at), Number(eventId.slice(at + 1))];
}

// What is done for open streams from time to time: heartbeats, the noting of their use, and another look at their keys.

import type { Clock, Timer } from "../core/ports/clock.ts";
import type { FeedChannel } from "./feed-channel.ts";

const HEARTBEAT_MS = 15_000;
/** Heartbeats go out in slices, or ten thousand of them would hold the event loop for a tenth of a second. */
const HEARTBEAT_SLICE = 200;
/**
 * An open stream counts as use of its session (contract section 1). Noted this often, which is within the five minutes that cleanup allows
 * for use that is not noted yet: so no session expires that is being read, however short its expiry is.
 */
const NOTE_USE_MS = 4 * 60_000;
/** How often the keys of open streams are looked at again. With the two seconds that a check may be old, a revoked key has ended in five. */
const KEY_CHECK_MS = 2_000;
/** How old what is known of a key may be, so that a revocation that could not be seen shows nothing for longer than one that could. */
const KEY_KNOWN_MS = 5_000;
/** Sessions whose use is noted in one transaction, so that ten thousand hold nobody up. */
const NOTE_USE_PORTION = 500;

export interface StreamRoundsOptions {
  readonly channels: ReadonlyMap<string, FeedChannel>;
  readonly clock: Clock;
  /** Notes that these sessions are in use. */
  readonly touch: (used: readonly { readonly id: string; readonly life: string }[]) => Promise<unknown>;
}

export class StreamRounds {
  readonly #options: StreamRoundsOptions;
  readonly #timers: readonly Timer[];
  /** Runs when what is known of a key will be too old, unless that is looked at before. */
  #tooOld: Timer | null = null;
  #stopped = false;

  constructor(options: StreamRoundsOptions) {
    this.#options = options;
    const { clock } = options;
    this.#timers = [
      clock.every(HEARTBEAT_MS, () => this.#beat()),
      clock.every(NOTE_USE_MS, () => void this.noteUse()),
      clock.every(KEY_CHECK_MS, () => void this.checkKeys()),
    ];
  }

  stop(): void {
    this.#stopped = true;
    for (const timer of this.#timers) timer.stop();
    this.#tooOld?.stop();
  }

  /** Notes the use of every session that is being read. Never rejects: what fails now is noted the next time. */
  async noteUse(): Promise<void> {
    const used: { readonly id: string; readonly life: string }[] = [];
    for (const { sessionId: id, life, readers } of this.#options.channels.values()) {
      if (readers.size > 0) used.push({ id, life });
    }
    for (let from = 0; from < used.length && !this.#stopped; from += NOTE_USE_PORTION) {
      await this.#options.touch(used.slice(from, from + NOTE_USE_PORTION)).catch(() => undefined);
    }
  }

  /**
   * Ends the streams whose key is not good any more. Never rejects: a key that cannot be looked at now is looked at the next time, until what
   * is known of it is too old.
   */
  async checkKeys(): Promise<void> {
    this.#endUnknown();
    const keyed: Promise<void>[] = [];
    for (const channel of this.#options.channels.values()) {
      for (const reader of channel.readers) {
        const { refresh } = reader.access;
        const check = (): void => {
          if (!this.#stopped) reader.mayShow(channel.app);
        };
        if (refresh === null) check();
        else keyed.push(refresh().then(check, check));
      }
    }
    await Promise.all(keyed);
  }

  /** Ends the streams of which nobody knows any more whether their key is good, and looks again when the next one may be. */
  #endUnknown(): void {
    this.#tooOld?.stop();
    if (this.#stopped) return;
    const { channels, clock } = this.#options;
    const now = clock.monotonic();
    let next = Number.POSITIVE_INFINITY;
    for (const channel of channels.values()) {
      for (const reader of channel.readers) {
        const askedAt = reader.access.askedAt(channel.app);
        if (askedAt === null) continue;
        if (now - askedAt >= KEY_KNOWN_MS) reader.finishForNow();
        else next = Math.min(next, askedAt + KEY_KNOWN_MS);
      }
    }
    this.#tooOld =
      next === Number.POSITIVE_INFINITY ? null : clock.after(next - now, () => this.#endUnknown());
  }

  #beat(): void {
    const readers = [...this.#options.channels.values()].flatMap((channel) => [...channel.readers]);
    const next = (from: number): void => {
      for (const reader of readers.slice(from, from + HEARTBEAT_SLICE)) reader.beat();
      if (from + HEARTBEAT_SLICE < readers.length) setImmediate(next, from + HEARTBEAT_SLICE);
    };
    next(0);
  }
}

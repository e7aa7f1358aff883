// Periodic work on open streams: heartbeats, recording their use, and checking their keys.

import type { Clock, Timer } from "../core/ports/driven/clock.ts";
import type { CommandStore } from "../core/ports/driven/store.ts";
import type { Channel } from "./channel.ts";

const HEARTBEAT_MS = 15_000;
/** Heartbeats are sent in slices: ten thousand at once would block the event loop for 0.1 s. */
const HEARTBEAT_SLICE = 200;
/**
 * An open stream counts as use of its session (contract section 1). Recording it every four minutes stays
 * within the five minutes that cleanup allows for unrecorded use, so no session with an open stream expires,
 * however short its expiry.
 */
const NOTE_USE_MS = 4 * 60_000;
/** Key data may be 2 s old, so a revoked key ends its streams within 5 s. */
const KEY_CHECK_MS = 2_000;
/** Maximum age of key data: if the store is down, a stream ends this long after the last check of its key. */
const MAX_KEY_AGE_MS = 5_000;
/** Maximum sessions per transaction, so that ten thousand do not block other writes. */
const NOTE_USE_BATCH = 500;

export interface StreamMaintenanceOptions {
  readonly channels: ReadonlyMap<string, Channel>;
  readonly clock: Clock;
  readonly store: Pick<CommandStore, "execute">;
}

export class StreamMaintenance {
  readonly #options: StreamMaintenanceOptions;
  readonly #timers: readonly Timer[];
  /** Fires when the oldest key data expires. */
  #expiryTimer: Timer | null = null;
  #stopped = false;

  constructor(options: StreamMaintenanceOptions) {
    this.#options = options;
    const { clock } = options;
    this.#timers = [
      clock.every(HEARTBEAT_MS, () => this.#sendHeartbeats()),
      clock.every(NOTE_USE_MS, () => void this.#noteUse()),
      clock.every(KEY_CHECK_MS, () => void this.#checkKeys()),
    ];
  }

  stop(): void {
    this.#stopped = true;
    for (const timer of this.#timers) timer.stop();
    this.#expiryTimer?.stop();
  }

  /** Records the use of every session with an open stream. Never rejects; the next call retries after a failure. */
  async #noteUse(): Promise<void> {
    const used = [...this.#options.channels.values()].filter(({ subscribers }) => subscribers.size > 0);
    for (let from = 0; from < used.length && !this.#stopped; from += NOTE_USE_BATCH) {
      const batch = used.slice(from, from + NOTE_USE_BATCH);
      await Promise.allSettled(
        batch.map(({ sessionId: session, incarnation }) => {
          const target = { session, incarnation };
          return this.#options.store.execute({ kind: "noteUse", target, input: null });
        }),
      );
    }
  }

  /** Ends the streams whose keys are no longer valid. A key that cannot be read is checked again until its data expires. */
  async #checkKeys(): Promise<void> {
    this.#endExpired();
    const keyed: Promise<void>[] = [];
    for (const channel of this.#options.channels.values()) {
      for (const subscriber of channel.subscribers) {
        const { refresh } = subscriber.access;
        const check = (): void => {
          if (!this.#stopped) subscriber.verifyAccess(channel);
        };
        if (refresh === null) check();
        else keyed.push(refresh().then(check, check));
      }
    }
    await Promise.all(keyed);
  }

  /** Ends the streams whose key data has expired, and schedules the next check. */
  #endExpired(): void {
    this.#expiryTimer?.stop();
    if (this.#stopped) return;
    const { channels, clock } = this.#options;
    const now = clock.monotonic();
    let next = Number.POSITIVE_INFINITY;
    for (const channel of channels.values()) {
      for (const subscriber of channel.subscribers) {
        const askedAt = subscriber.access.askedAt(channel);
        if (askedAt === null) continue;
        if (now - askedAt >= MAX_KEY_AGE_MS) subscriber.finishWithRetry();
        else next = Math.min(next, askedAt + MAX_KEY_AGE_MS);
      }
    }
    this.#expiryTimer =
      next === Number.POSITIVE_INFINITY ? null : clock.after(next - now, () => this.#endExpired());
  }

  #sendHeartbeats(): void {
    const subscribers = [...this.#options.channels.values()].flatMap((channel) => [...channel.subscribers]);
    const next = (from: number): void => {
      for (const subscriber of subscribers.slice(from, from + HEARTBEAT_SLICE)) subscriber.beat();
      if (from + HEARTBEAT_SLICE < subscribers.length) setImmediate(next, from + HEARTBEAT_SLICE);
    };
    next(0);
  }
}

// Counts a minute, in the memory of this process: they answer at once, since whoever asks goes on to a commit in the same turn of the event
// loop, and their clock is given, so that a test need not wait.

import type { WindowCount } from "../core/ports/driven/rate-counters.ts";

export const WINDOW_MS = 60_000;
/** Keys remembered at most; beyond that the oldest windows are forgotten, so that memory stays bounded. */
export const REMEMBERED = 100_000;

interface Window {
  readonly endsAt: number;
  count: number;
}

/** Counts as `RateCounters` do, at once, in windows of `WINDOW_MS`. */
export class WindowCounter {
  readonly #now: () => number;
  readonly #remembered: number;
  /** In the order in which the windows began. */
  readonly #windows = new Map<string, Window>();

  /** `now` in milliseconds, monotonic. */
  constructor(now: () => number, remembered = REMEMBERED) {
    this.#now = now;
    this.#remembered = remembered;
  }

  take(key: string): WindowCount {
    const now = this.#now();
    this.#forget(now);
    let window = this.#windows.get(key);
    if (window === undefined) {
      window = { endsAt: now + WINDOW_MS, count: 0 };
      this.#windows.set(key, window);
    }
    window.count += 1;
    return { count: window.count, endsInMs: window.endsAt - now };
  }

  peek(key: string): WindowCount {
    const now = this.#now();
    this.#forget(now);
    const { count, endsAt } = this.#windows.get(key) ?? { count: 0, endsAt: now + WINDOW_MS };
    return { count, endsInMs: endsAt - now };
  }

  #forget(now: number): void {
    for (const [key, window] of this.#windows) {
      if (window.endsAt > now && this.#windows.size < this.#remembered) return;
      this.#windows.delete(key);
    }
  }
}

// A clock that stands still until a test moves it.

import type { Clock, Timer } from "../src/core/ports/driven/clock.ts";

interface Pending {
  due: number;
  readonly every: number | null;
  readonly callback: () => void;
}

export class ManualClock implements Clock {
  readonly #start: number;
  #elapsed = 0;
  readonly #pending = new Set<Pending>();

  /** `start` is the wall-clock time to begin with, in milliseconds since the epoch. */
  constructor(start = Date.UTC(2026, 0, 1)) {
    this.#start = start;
  }

  /** Timers that have not run and were not stopped. */
  get timers(): number {
    return this.#pending.size;
  }

  /** Milliseconds until the next timer runs, `null` if there is none. */
  get nextIn(): number | null {
    const next = this.#nextBefore(Infinity);
    return next === undefined ? null : next.due - this.#elapsed;
  }

  now(): number {
    return this.#start + this.#elapsed;
  }

  monotonic(): number {
    return this.#elapsed;
  }

  after(ms: number, callback: () => void): Timer {
    return this.#add({ due: this.#elapsed + ms, every: null, callback });
  }

  every(ms: number, callback: () => void): Timer {
    return this.#add({ due: this.#elapsed + ms, every: ms, callback });
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted === true) {
        reject(signal.reason);
        return;
      }
      const onAbort = (): void => {
        timer.stop();
        reject(signal?.reason);
      };
      const timer = this.after(ms, () => {
        signal?.removeEventListener("abort", onAbort);
        resolve();
      });
      signal?.addEventListener("abort", onAbort, { once: true });
    });
  }

  /** Moves on by `ms`, running each timer at its moment, and lets everything that follows from it happen before the next. */
  async advance(ms: number): Promise<void> {
    const target = this.#elapsed + ms;
    await settle();
    for (let next = this.#nextBefore(target); next !== undefined; next = this.#nextBefore(target)) {
      this.#elapsed = next.due;
      if (next.every === null) this.#pending.delete(next);
      else next.due += next.every;
      next.callback();
      await settle();
    }
    this.#elapsed = target;
  }

  /** Moves on by `ms` as a process sees it that is stopped meanwhile: no timer runs. Those that were due run once at the next `advance`. */
  pause(ms: number): void {
    this.#elapsed += ms;
    for (const pending of this.#pending) {
      if (pending.due < this.#elapsed) pending.due = this.#elapsed;
    }
  }

  #add(pending: Pending): Timer {
    this.#pending.add(pending);
    return { stop: () => void this.#pending.delete(pending) };
  }

  #nextBefore(target: number): Pending | undefined {
    let earliest: Pending | undefined;
    for (const pending of this.#pending) {
      if (pending.due <= target && (earliest === undefined || pending.due < earliest.due)) earliest = pending;
    }
    return earliest;
  }
}

/** One turn of the event loop: all promise reactions that can run have run. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

// A clock that a test advances.

import type { Clock, Timer } from "@colloquy/engine/internal/core/ports/driven/clock";

interface Pending {
  due: number;
  readonly every: number | null;
  readonly callback: () => void;
}

export class ManualClock implements Clock {
  #start: number;
  #elapsed = 0;
  readonly #pending = new Set<Pending>();

  /** `start` is the initial wall-clock time, in milliseconds since the epoch. */
  constructor(start = Date.UTC(2026, 0, 1)) {
    this.#start = start;
  }

  /** Number of pending timers. */
  get timers(): number {
    return this.#pending.size;
  }

  /** Milliseconds until the next timer fires, `null` if there is none. */
  get nextIn(): number | null {
    const next = this.#nextBefore(Infinity);
    return next === undefined ? null : next.due - this.#elapsed;
  }

  /** Returns true if a timer fires in exactly `ms`. */
  hasTimerIn(ms: number): boolean {
    return [...this.#pending].some(({ due }) => due - this.#elapsed === ms);
  }

  now(): number {
    return this.#start + this.#elapsed;
  }

  /** Sets the wall clock back by `ms`, as an operator or NTP does. Timers do not notice. */
  setBack(ms: number): void {
    this.#start -= ms;
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

  /** Advances by `ms`, firing each timer at its time and completing all its consequences before the next. */
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

  /**
   * Advances by `ms` like a suspended process: no timer fires. Those that were due fire once at the next
   * `advance`.
   */
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

/** One iteration of the event loop: all runnable promise reactions have run. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

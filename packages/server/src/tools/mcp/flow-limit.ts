import type { Clock } from "../../core/ports/driven/clock.ts";

/** Window of a limit in milliseconds. */
const WINDOW_MS = 10_000;

/** Limits an amount per ten seconds. */
export class FlowLimit {
  readonly #clock: Clock;
  readonly #limit: number;
  #since: number;
  #count = 0;

  constructor(clock: Clock, limit: number) {
    this.#clock = clock;
    this.#limit = limit;
    this.#since = clock.monotonic();
  }

  /** Counts an amount; returns true while the limit holds. */
  take(count: number): boolean {
    const now = this.#clock.monotonic();
    if (now - this.#since >= WINDOW_MS) {
      this.#since = now;
      this.#count = 0;
    }
    this.#count += count;
    return this.#count <= this.#limit;
  }
}

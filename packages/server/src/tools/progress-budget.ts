import type { Clock } from "../core/ports/clock.ts";

const BURST = 20;
const REFILL_MS = 500;

/** How often one call may report progress: some at once, then two a second. Each report is stored and sent; the rest is dropped. */
export class ProgressBudget {
  readonly #clock: Clock;
  #left = BURST;
  #refilledAt: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#refilledAt = clock.monotonic();
  }

  /** Whether one more report may go out now. */
  take(): boolean {
    const refill = Math.floor((this.#clock.monotonic() - this.#refilledAt) / REFILL_MS);
    this.#left = Math.min(BURST, this.#left + refill);
    this.#refilledAt += refill * REFILL_MS;
    if (this.#left === 0) return false;
    this.#left -= 1;
    return true;
  }
}

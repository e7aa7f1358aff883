import type { Clock } from "../core/ports/driven/clock.ts";

const BURST = 20;
const REFILL_MS = 500;

/**
 * Limits the progress reports of one call: a burst of 20, then two a second. Each report is stored and sent;
 * reports over the limit are dropped.
 */
export class ProgressBudget {
  readonly #clock: Clock;
  #left = BURST;
  #refilledAt: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#refilledAt = clock.monotonic();
  }

  /** Returns true if one more report may be sent now. */
  take(): boolean {
    const refill = Math.floor((this.#clock.monotonic() - this.#refilledAt) / REFILL_MS);
    this.#left = Math.min(BURST, this.#left + refill);
    this.#refilledAt += refill * REFILL_MS;
    if (this.#left === 0) return false;
    this.#left -= 1;
    return true;
  }
}

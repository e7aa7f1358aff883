// Caches the number of turns waiting in the store, so that a chat need not query it. The cache is never too
// low: turns that stopped waiting because of an interrupt or a deletion are noticed by the next count.

import type { Clock } from "../core/ports/driven/clock.ts";
import type { TurnStore } from "../core/ports/driven/turn-store.ts";

const RECOUNT_MS = 1_000;

export interface WaitingCountOptions {
  readonly store: Pick<TurnStore, "countWaiting">;
  readonly clock: Clock;
  /** Maximum number of waiting turns; counting stops there. */
  readonly maxWaiting: number;
  /** True if no other process adds or takes turns; otherwise they are counted every second. */
  readonly isAlone: boolean;
}

export class WaitingCount {
  readonly #store: Pick<TurnStore, "countWaiting">;
  readonly #clock: Clock;
  /** Maximum number of waiting turns; counting stops there. */
  readonly #most: number;
  readonly #isAlone: boolean;
  #value = 0;
  #countedAt = Number.NEGATIVE_INFINITY;
  /** True if the last count stopped at the maximum, so that more may wait. */
  #capped = false;

  constructor({ store, clock, maxWaiting, isAlone }: WaitingCountOptions) {
    this.#store = store;
    this.#clock = clock;
    this.#most = maxWaiting;
    this.#isAlone = isAlone;
  }

  get value(): number {
    return this.#value;
  }

  add(count: number): void {
    this.#value += count;
  }

  /** Subtracts claimed turns. Must be called in the order of the store's answers, including counts. */
  take(count: number): void {
    this.#value = Math.max(0, this.#value - count);
  }

  /** Returns true if the maximum number of turns waits; at most one second out of date. */
  async isFull(): Promise<boolean> {
    if (this.#isAlone && this.#value < this.#most && !this.#capped) return false;
    await this.#recountIfOld();
    return this.#value >= this.#most;
  }

  /** Recounts after a claim found nothing more, because the cached number may be too high. */
  async correct(): Promise<void> {
    if (this.#value > 0) await this.#recountIfOld();
  }

  async recount(): Promise<void> {
    this.#countedAt = this.#clock.monotonic();
    const counted = await this.#store.countWaiting(this.#most);
    this.#value = counted;
    this.#capped = counted >= this.#most;
  }

  async #recountIfOld(): Promise<void> {
    if (this.#clock.monotonic() - this.#countedAt >= RECOUNT_MS) await this.recount();
  }
}

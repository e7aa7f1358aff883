// How many turns wait in the store, kept here so that a chat need not ask for it. Between counts it is never too low: turns that wait
// no more because they were interrupted or deleted are noticed by the next count.

import type { Clock } from "../core/ports/clock.ts";
import type { TurnStore } from "../core/ports/turn-store.ts";

const RECOUNT_MS = 1_000;

export interface WaitingCountOptions {
  readonly store: Pick<TurnStore, "countWaiting">;
  readonly clock: Clock;
  /** Turns that may wait; counting stops there. */
  readonly maxWaiting: number;
  /** Whether no other process adds turns that wait, and takes some: else they are counted every second. */
  readonly isAlone: boolean;
}

export class WaitingCount {
  readonly #store: Pick<TurnStore, "countWaiting">;
  readonly #clock: Clock;
  /** Turns that may wait; counting stops there. */
  readonly #most: number;
  readonly #isAlone: boolean;
  #value = 0;
  #countedAt = Number.NEGATIVE_INFINITY;
  /** Whether the last count stopped at the most, so that more may wait than are known. */
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

  /** A claim has taken so many. Must be told in the order in which the store answers, counts among its answers. */
  take(count: number): void {
    this.#value = Math.max(0, this.#value - count);
  }

  /** Whether as many wait as may; exact within a second. */
  async isFull(): Promise<boolean> {
    if (this.#isAlone && this.#value < this.#most && !this.#capped) return false;
    await this.#recountIfOld();
    return this.#value >= this.#most;
  }

  /** A claim has found nothing more: what is still counted may be gone. */
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

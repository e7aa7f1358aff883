// The state machine of the dispatcher's claims, as a table, and bounds on the turns that wait in the store.

import type { Clock } from "../core/ports/driven/clock.ts";
import type { TurnStore } from "../core/ports/driven/store.ts";

/** Minimum time between two counts of waiting turns. */
const RECOUNT_MS = 1_000;

export type DispatcherState =
  /** No claim is in progress. */
  | "idle"
  | "claiming"
  /** The store failed; a timer starts the next claim. */
  | "backing_off"
  /** The dispatcher is stopping during a claim; it hands the claimed turns back. */
  | "stopping"
  | "stopped";

export type DispatcherTrigger =
  /** Turns may have become claimable: some arrived, or a slot became free. */
  | "work"
  /** The claim found no more turns, or no more slots. */
  | "claim_ended"
  | "claim_failed"
  | "retry_due"
  | "stop";

type Row = Readonly<Record<DispatcherTrigger, DispatcherState | "impossible">>;

const NEXT: Readonly<Record<DispatcherState, Row>> = {
  idle: {
    work: "claiming",
    claim_ended: "impossible",
    claim_failed: "impossible",
    retry_due: "impossible",
    stop: "stopped",
  },
  claiming: {
    // The claim in progress repeats until nothing is left.
    work: "claiming",
    claim_ended: "idle",
    claim_failed: "backing_off",
    retry_due: "impossible",
    stop: "stopping",
  },
  backing_off: {
    work: "backing_off",
    claim_ended: "impossible",
    claim_failed: "impossible",
    retry_due: "claiming",
    stop: "stopped",
  },
  stopping: {
    work: "stopping",
    claim_ended: "stopped",
    claim_failed: "stopped",
    retry_due: "impossible",
    stop: "stopping",
  },
  stopped: {
    work: "stopped",
    claim_ended: "impossible",
    claim_failed: "impossible",
    retry_due: "impossible",
    stop: "stopped",
  },
};

/** Returns the state after `trigger`. Throws on a transition that the table calls impossible, which is a defect. */
export function nextDispatcherState(state: DispatcherState, trigger: DispatcherTrigger): DispatcherState {
  const next = NEXT[state][trigger];
  if (next === "impossible") throw new Error(`A dispatcher that is ${state} cannot handle "${trigger}"`);
  return next;
}

/** Upper bounds on the runnable turns in the store. They may be too high, but never too low. */
export class Backlog {
  /** Upper bound of runnable turns beyond the current claim; infinite until the claim at the start, and after a failed claim. */
  unclaimed = Number.POSITIVE_INFINITY;
  /** Upper bound of runnable turns that the current claim leaves behind. */
  leftBehind = 0;
  /**
   * Number of chats that are being processed and have no slot yet. A later chat must leave one slot free for
   * each of them.
   */
  chatsWithoutSlot = 0;
  /** True if the last claim skipped turns of full providers; they wait until one has capacity. */
  skippedProviders = false;
  /** True if work arrived since other processes were last notified. */
  isUnannounced = false;

  /** Returns true if a chat's turn may take one of these free slots, without taking one that an earlier turn needs. */
  hasSlotForChat(free: number): boolean {
    return free > this.unclaimed + this.leftBehind + this.chatsWithoutSlot;
  }

  /** Begins a claim with `slots` free slots, while at most `waiting` turns are in the store. */
  beginClaim(slots: number, waiting: number, skipsProviders: boolean): void {
    this.leftBehind = Math.max(0, Math.min(this.unclaimed, waiting) - slots);
    this.unclaimed = 0;
    this.skippedProviders = skipsProviders;
  }

  /** Ends a claim after which more turns may be left. */
  endClaim(more: number): void {
    this.unclaimed += more;
    this.leftBehind = 0;
  }

  /** Resets the bounds after a failed claim: any number of turns may be left. */
  forget(): void {
    this.leftBehind = 0;
    this.unclaimed = Number.POSITIVE_INFINITY;
  }
}

interface WaitingCountOptions {
  readonly store: Pick<TurnStore, "countWaiting">;
  readonly clock: Clock;
  /** Maximum number of waiting turns; counting stops there. */
  readonly maxWaiting: number;
  /** True if no other process adds or takes turns; otherwise they are counted every second. */
  readonly isAlone: boolean;
}

/**
 * Caches the number of turns waiting in the store, so that a chat need not query it. The number may be too
 * high until the next count, because interrupts and deletions do not update it.
 */
export class WaitingCount {
  readonly #options: WaitingCountOptions;
  #value = 0;
  #countedAt = Number.NEGATIVE_INFINITY;
  /** True if the last count stopped at the maximum, so that more may wait. */
  #capped = false;

  constructor(options: WaitingCountOptions) {
    this.#options = options;
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

  /** Returns true if the maximum number of turns is waiting. The answer is at most one second old. */
  async isFull(): Promise<boolean> {
    const { isAlone, maxWaiting } = this.#options;
    if (isAlone && this.#value < maxWaiting && !this.#capped) return false;
    await this.#recountIfOld();
    return this.#value >= maxWaiting;
  }

  /** Recounts after a claim found nothing more, because the cached number may be too high. */
  async correct(): Promise<void> {
    if (this.#value > 0) await this.#recountIfOld();
  }

  async recount(): Promise<void> {
    const { store, clock, maxWaiting } = this.#options;
    this.#countedAt = clock.monotonic();
    this.#value = await store.countWaiting(maxWaiting);
    this.#capped = this.#value >= maxWaiting;
  }

  async #recountIfOld(): Promise<void> {
    if (this.#options.clock.monotonic() - this.#countedAt >= RECOUNT_MS) await this.recount();
  }
}

// Schedules the attempts to connect to a source of tools.

import type { Clock, Timer } from "../core/ports/driven/clock.ts";

/** A connection that lasted this many milliseconds resets the backoff. */
const STEADY_MS = 60_000;

export interface ReconnectPlanOptions {
  readonly clock: Clock;
  /** Returns a number from 0 to 1. */
  readonly random: () => number;
  /** Called when the next attempt is due; `null` if the connection is opened on demand only. */
  readonly onDue: (() => void) | null;
}

/**
 * Schedules reconnects with exponential backoff of 1 second to 5 minutes, which a connection of a minute
 * resets.
 */
export class ReconnectPlan {
  readonly #options: ReconnectPlanOptions;
  #onDue: (() => void) | null;
  #failures = 0;
  #openedAt = 0;
  /** Time of the next allowed attempt, on the monotonic clock. */
  #notBefore = 0;
  #timer: Timer | null = null;

  constructor(options: ReconnectPlanOptions) {
    this.#options = options;
    this.#onDue = options.onDue;
  }

  /** True if an attempt is allowed now. */
  get isDue(): boolean {
    return this.#options.clock.monotonic() >= this.#notBefore;
  }

  get hasFailed(): boolean {
    return this.#failures > 0;
  }

  /** Records that an attempt has started, and stops the timer. */
  trying(): void {
    this.#timer?.stop();
  }

  opened(): void {
    this.#openedAt = this.#options.clock.monotonic();
  }

  /** Records a failed attempt. Returns the milliseconds until the next one. */
  failed(): number {
    this.#failures += 1;
    return this.#wait();
  }

  /** Records a loss. A connection that did not last counts as a failed attempt. */
  lost(): void {
    const lasted = this.#options.clock.monotonic() - this.#openedAt >= STEADY_MS;
    this.#failures = lasted ? 0 : this.#failures + 1;
    this.#wait();
  }

  /** Stops the timer, and starts none from now on. */
  stop(): void {
    this.#onDue = null;
    this.#timer?.stop();
  }

  #wait(): number {
    const { clock, random } = this.#options;
    const delay = reconnectDelay(this.#failures, random());
    this.#notBefore = clock.monotonic() + delay;
    this.#timer?.stop();
    if (this.#onDue !== null) this.#timer = clock.after(delay, this.#onDue);
    return delay;
  }
}

const FIRST_MS = 1_000;
const LONGEST_MS = 5 * 60_000;

/**
 * Returns the milliseconds to wait before the next attempt: exponential backoff with jitter between half and
 * all of it, so that clients do not reconnect in lockstep. `random` is from 0 to 1.
 */
export function reconnectDelay(failures: number, random: number): number {
  const longest = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(failures, 20));
  return Math.round(longest * (0.5 + random / 2));
}

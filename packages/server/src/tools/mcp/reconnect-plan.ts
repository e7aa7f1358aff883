// When a lost connection is tried again.

import type { Clock, Timer } from "../../core/ports/clock.ts";
import { reconnectDelay } from "./reconnect-delay.ts";

/** A connection that held for so long, in milliseconds, counts as a success. */
const STEADY_MS = 60_000;

export interface ReconnectPlanOptions {
  readonly clock: Clock;
  /** From 0 to 1. */
  readonly random: () => number;
  /** Called when it is time, unless the connection is opened again only by those who need it. */
  readonly onDue: (() => void) | null;
}

export class ReconnectPlan {
  readonly #options: ReconnectPlanOptions;
  #onDue: (() => void) | null;
  #failures = 0;
  #openedAt = 0;
  /** On the monotonic clock. */
  #notBefore = 0;
  #timer: Timer | null = null;

  constructor(options: ReconnectPlanOptions) {
    this.#options = options;
    this.#onDue = options.onDue;
  }

  /** Whether it may be tried now. */
  get isTime(): boolean {
    return this.#options.clock.monotonic() >= this.#notBefore;
  }

  get hasFailed(): boolean {
    return this.#failures > 0;
  }

  /** It is tried now: nothing is due until it fails. */
  trying(): void {
    this.#timer?.stop();
  }

  opened(): void {
    this.#openedAt = this.#options.clock.monotonic();
  }

  failed(): void {
    this.#failures += 1;
    this.#wait();
  }

  /** A server that comes up and falls over at once is no better than one that does not come up. */
  lost(): void {
    const lasted = this.#options.clock.monotonic() - this.#openedAt >= STEADY_MS;
    this.#failures = lasted ? 0 : this.#failures + 1;
    this.#wait();
  }

  /** From now on nothing is due by itself. */
  stop(): void {
    this.#onDue = null;
    this.#timer?.stop();
  }

  #wait(): void {
    const { clock, random } = this.#options;
    const delay = reconnectDelay(this.#failures, random());
    this.#notBefore = clock.monotonic() + delay;
    this.#timer?.stop();
    if (this.#onDue !== null) this.#timer = clock.after(delay, this.#onDue);
  }
}

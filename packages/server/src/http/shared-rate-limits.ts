// Rate limits that several processes keep together: the same as in rate-limits.ts, each a question to whoever counts for all.

import type { ServiceError } from "../core/errors.ts";
import type { RateCounters } from "../core/ports/rate-counters.ts";
import { noPlaceLeft, REMEMBERED, tooOften, WINDOW_MS } from "./rate-limits.ts";

/** Lets each key through a number of times a minute, whichever process is asked. */
export class SharedWindows {
  readonly #counters: RateCounters;
  readonly #name: string;
  readonly #limit: number;
  readonly #now: () => number;
  readonly #remembered: number;
  /** Until when a key has its number, so that whoever asks on and on costs the others nothing. In the order in which it became known. */
  readonly #fullUntil = new Map<string, number>();

  /** `name` sets these counts apart from others; `now` in milliseconds, monotonic. */
  constructor(
    counters: RateCounters,
    name: string,
    limit: number,
    now: () => number,
    remembered = REMEMBERED,
  ) {
    this.#counters = counters;
    this.#name = name;
    this.#limit = limit;
    this.#now = now;
    this.#remembered = remembered;
  }

  /**
   * Counts one for the key.
   * @throws ServiceError 429 when it had its number already, 503 when it cannot be counted
   */
  async take(key: string, what: string): Promise<void> {
    const known = (this.#fullUntil.get(key) ?? 0) - this.#now();
    if (known > 0) throw tooOften(this.#limit, what, known);
    const waitMs = await this.#counters.take(`${this.#name} ${key}`, this.#limit, WINDOW_MS);
    if (waitMs === 0) return;
    this.#remember(key, this.#now() + waitMs);
    throw tooOften(this.#limit, what, waitMs);
  }

  #remember(key: string, until: number): void {
    this.#fullUntil.delete(key);
    for (const [oldest, over] of this.#fullUntil) {
      if (over > this.#now() && this.#fullUntil.size < this.#remembered) break;
      this.#fullUntil.delete(oldest);
    }
    this.#fullUntil.set(key, until);
  }
}

/** Lets each key hold a number of places at the same time, in all processes together. */
export class SharedPlaces {
  readonly #counters: RateCounters;
  readonly #name: string;
  readonly #limit: number;
  readonly #refusal: (limit: number, what: string) => ServiceError;

  /** `name` sets these places apart from others. */
  constructor(counters: RateCounters, name: string, limit: number, refusal = noPlaceLeft) {
    this.#counters = counters;
    this.#name = name;
    this.#limit = limit;
    this.#refusal = refusal;
  }

  /**
   * Takes a place.
   * @throws ServiceError 429 when the key holds its number already, 503 when it cannot be counted
   */
  async take(key: string, what: string): Promise<void> {
    if (!(await this.#counters.hold(`${this.#name} ${key}`, this.#limit)))
      throw this.#refusal(this.#limit, what);
  }

  give(key: string): void {
    this.#counters.release(`${this.#name} ${key}`);
  }
}

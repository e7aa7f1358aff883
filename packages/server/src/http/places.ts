// Places that are held for as long as something is open, such as event streams: in the memory of a process that is alone, or by all nodes
// together (ADR 19).

import { ServiceError } from "../core/errors.ts";
import type { RateCounters } from "../core/ports/driven/rate-counters.ts";

const PLACE_RETRY = { headers: { "retry-after": "10" } };

/** Lets each key hold a number of places at the same time. */
export class PlaceLimiter {
  readonly #limit: number;
  readonly #held = new Map<string, number>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Takes a place. @throws ServiceError 429 when the key holds its number already */
  take(key: string, what: string): void {
    const held = this.#held.get(key) ?? 0;
    if (held >= this.#limit) throw noPlaceLeft(this.#limit, what);
    this.#held.set(key, held + 1);
  }

  give(key: string): void {
    const held = this.#held.get(key) ?? 0;
    if (held <= 1) this.#held.delete(key);
    else this.#held.set(key, held - 1);
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

function noPlaceLeft(limit: number, what: string): ServiceError {
  const detail = `At most ${limit} ${what} are allowed at the same time. Close one first.`;
  return new ServiceError(429, "rate_limited", detail, PLACE_RETRY);
}

// How often clients have asked, counted together by all processes of a service. A server that is the only one counts in its own memory
// (http/rate-limits.ts) and needs none of this.

/** Counts may be lost when what keeps them crashes: then more is let through for a moment, and nothing else. */
export interface RateCounters {
  /**
   * Counts one for `key`. A key's count begins with its first and starts afresh `windowMs` milliseconds later. Answers 0 when this was among
   * the first `limit`, else the milliseconds until it starts afresh.
   * @throws Unavailable when it cannot be counted
   */
  take(key: string, limit: number, windowMs: number): Promise<number>;
  /**
   * Takes one of the `limit` places that a key has; `false` when all are taken. Places of a process that dies come free within
   * `HOLDER_DEAD_MS` milliseconds.
   * @throws Unavailable when it cannot be counted
   */
  hold(key: string, limit: number): Promise<boolean>;
  /** Gives back a place that `hold` has answered `true` for. The other processes see it soon. */
  release(key: string): void;
  /** Gives everything back. */
  close(): Promise<void>;
}

/** Milliseconds without a sign of life after which the places of a process count no more, and those between two signs. */
export const HOLDER_DEAD_MS = 15_000;
export const HOLDER_SIGN_MS = 5_000;

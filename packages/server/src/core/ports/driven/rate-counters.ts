// How often clients have asked, counted together by all processes of a service. A server that is the only one counts in its own memory
// (http/budgets.ts) and needs none of this.

/** Where a count stands that begins with its first and starts afresh some time later. */
export interface WindowCount {
  readonly count: number;
  /** Milliseconds until it starts afresh. */
  readonly endsInMs: number;
}

/** Counts may be lost when what keeps them crashes: then more is let through for a moment, and nothing else. */
export interface RateCounters {
  /**
   * Counts one for `key`, and answers where its count stands with it. A key's count begins with its first and starts afresh `windowMs`
   * milliseconds later.
   * @throws Unavailable when it cannot be counted
   */
  take(key: string, windowMs: number): Promise<WindowCount>;
  /**
   * Answers where the count of `key` stands, and counts nothing. One that has not begun is 0, and over in `windowMs` milliseconds.
   * @throws Unavailable when it cannot be read
   */
  peek(key: string, windowMs: number): Promise<WindowCount>;
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

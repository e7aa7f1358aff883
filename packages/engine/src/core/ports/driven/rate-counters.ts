// Counts that all processes of a service share. A single server counts in memory (http/budgets.ts).
// Implemented by backends that several nodes share.

/** State of a count in a window that begins with its first request. */
export interface WindowCount {
  readonly count: number;
  /** Milliseconds until the window ends. */
  readonly endsInMs: number;
}

/** Shared counts. A crash may lose them, so that more requests pass for a short time. */
export interface RateCounters {
  /**
   * Counts `amount` (default: 1) for `key` and returns the count. Its window begins with the first request and lasts `windowMs`
   * milliseconds. A negative amount gives back what was counted before. Counts are integers of 32 bits.
   * @throws Unavailable if it cannot be counted
   */
  take(key: string, windowMs: number, amount?: number): Promise<WindowCount>;
  /**
   * Returns the count of `key` without counting; 0 with a full window if there is none.
   * @throws Unavailable if it cannot be read
   */
  peek(key: string, windowMs: number): Promise<WindowCount>;
  /** Takes one of a key's `limit` slots; returns `false` if all are taken. Slots of a dead process are released within `HOLDER_DEAD_MS` milliseconds.
   * @throws Unavailable if it cannot be counted
   */
  hold(key: string, limit: number): Promise<boolean>;
  /** Releases a slot for which `hold` returned `true`. Other processes see that soon. */
  release(key: string): void;
  /** Releases everything. */
  close(): Promise<void>;
}

/** Milliseconds without a heartbeat after which a process's slots expire, and the interval of heartbeats. */
export const HOLDER_DEAD_MS = 15_000;
export const HOLDER_SIGN_MS = 5_000;

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

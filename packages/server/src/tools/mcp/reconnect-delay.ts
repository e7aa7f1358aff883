const FIRST_MS = 1_000;
const LONGEST_MS = 5 * 60_000;

/**
 * Milliseconds to wait before the next attempt: doubled with each failure, and anything between half of that and all of it, so that
 * what was lost together does not come back together. `random` is from 0 to 1.
 */
export function reconnectDelay(failures: number, random: number): number {
  const longest = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(failures, 20));
  return Math.round(longest * (0.5 + random / 2));
}

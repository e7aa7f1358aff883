import type { Clock } from "../core/ports/driven/clock.ts";

/**
 * Returns true if the promise resolves within `ms` milliseconds; rejects if it rejects by then. Leaves no
 * timer behind.
 */
export async function within(clock: Clock, ms: number, promise: Promise<unknown>): Promise<boolean> {
  const late = Promise.withResolvers<boolean>();
  const timer = clock.after(ms, () => late.resolve(false));
  try {
    return await Promise.race([promise.then(() => true), late.promise]);
  } finally {
    timer.stop();
  }
}

import type { Clock } from "../core/ports/clock.ts";

/** Whether the promise was settled within `ms` milliseconds; rejects when it did. Leaves no timer. */
export async function within(clock: Clock, ms: number, promise: Promise<unknown>): Promise<boolean> {
  const late = Promise.withResolvers<boolean>();
  const timer = clock.after(ms, () => late.resolve(false));
  try {
    return await Promise.race([promise.then(() => true), late.promise]);
  } finally {
    timer.stop();
  }
}

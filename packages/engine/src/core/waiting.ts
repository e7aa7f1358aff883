// Waits that may end before the work that they wait for.

import type { Clock } from "./ports/driven/clock.ts";

/**
 * Returns the result of `work`, or `late` after `ms` milliseconds or an abort of `signal`. Rejects if `work`
 * rejects before that.
 */
export async function within<Result, Late>(
  work: Promise<Result>,
  late: Late,
  {
    clock,
    ms,
    signal,
  }: { readonly clock: Pick<Clock, "after">; readonly ms: number; readonly signal?: AbortSignal },
): Promise<Result | Late> {
  const { promise: over, resolve } = Promise.withResolvers<Late>();
  const end = (): void => resolve(late);
  const timer = clock.after(ms, end);
  signal?.addEventListener("abort", end, { once: true });
  if (signal?.aborted === true) end();
  try {
    return await Promise.race([work, over]);
  } finally {
    timer.stop();
    signal?.removeEventListener("abort", end);
  }
}

/** Returns the result of `work`; rejects with the signal's reason as soon as that aborts, even if `work` hangs. */
export async function untilAborted<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  const aborted = Promise.withResolvers<never>();
  const abort = (): void => aborted.reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}

import type { Clock } from "../core/ports/driven/clock.ts";

/**
 * Returns the result of `work`, or `late` after `ms` milliseconds or an abort of `signal`. Rejects if `work`
 * rejects before that.
 */
export async function within<Result, Late>(
  work: Promise<Result>,
  late: Late,
  { clock, ms, signal }: { readonly clock: Clock; readonly ms: number; readonly signal?: AbortSignal },
): Promise<Result | Late> {
  const stop = new AbortController();
  const signals = signal === undefined ? [stop.signal] : [stop.signal, signal];
  const timeOver = clock.sleep(ms, AbortSignal.any(signals)).then(
    () => late,
    () => late,
  );
  return await Promise.race([work, timeOver]).finally(() => stop.abort());
}

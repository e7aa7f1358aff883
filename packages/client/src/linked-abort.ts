export interface LinkedAbort {
  readonly signal: AbortSignal;
  abort(reason: unknown): void;
  /** Removes the listeners from the followed signals, which may live much longer. */
  release(): void;
}

/** Creates an abort controller that also aborts when one of `signals` does. */
export function linkedAbort(...signals: readonly (AbortSignal | undefined)[]): LinkedAbort {
  const own = new AbortController();
  const links = signals.flatMap((signal) => {
    if (signal === undefined) return [];
    const onAbort = (): void => own.abort(signal.reason);
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort);
    return [() => signal.removeEventListener("abort", onAbort)];
  });
  return {
    signal: own.signal,
    abort: (reason) => own.abort(reason),
    release: () => {
      for (const unlink of links) unlink();
    },
  };
}

/** Returns what `work` resolves with. Throws the signal's reason as soon as it aborts. */
export async function beforeAbort<Result>(
  signal: AbortSignal | undefined,
  work: () => Promise<Result> | Result,
): Promise<Result> {
  const aborted = Promise.withResolvers<never>();
  const onAbort = (): void => aborted.reject(signal?.reason);
  signal?.addEventListener("abort", onAbort);
  try {
    signal?.throwIfAborted();
    return await Promise.race([work(), aborted.promise]);
  } finally {
    signal?.removeEventListener("abort", onAbort);
  }
}

export interface LinkedAbort {
  readonly signal: AbortSignal;
  abort(reason: unknown): void;
  /** Lets go of the signals that this one follows, which may live much longer. */
  release(): void;
}

/** An abort of its own that also comes when one of `signals` does. */
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

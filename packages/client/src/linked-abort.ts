export interface LinkedAbort {
  readonly signal: AbortSignal;
  abort(reason: unknown): void;
  /** Removes the listeners from `signals`, which may outlive this controller. */
  release(): void;
}

/** Creates an abort controller that also aborts when one of `signals` does. */
export function linkedAbort(...signals: readonly (AbortSignal | undefined)[]): LinkedAbort {
  const own = new AbortController();
  const links = signals.flatMap((signal) => {
    if (signal === undefined) return [];
    const onAbort = (): void => abortWith(own, reasonOf(signal));
    if (signal.aborted) onAbort();
    else signal.addEventListener("abort", onAbort);
    return [() => signal.removeEventListener("abort", onAbort)];
  });
  return {
    signal: own.signal,
    abort: (reason) => abortWith(own, reason),
    release: () => {
      for (const unlink of links) unlink();
    },
  };
}

/** Aborts with a reason. Defines `signal.reason` where the runtime lacks it (React Native). */
export function abortWith(controller: AbortController, reason: unknown): void {
  const { signal } = controller;
  if (!signal.aborted && !("reason" in signal)) Object.defineProperty(signal, "reason", { value: reason });
  controller.abort(reason);
}

/** Returns `signal.reason`, or an `AbortError` where the runtime lacks it. */
export function reasonOf(signal: AbortSignal | undefined): unknown {
  return signal?.reason ?? Object.assign(new Error("The operation was aborted."), { name: "AbortError" });
}

/** Replaces `signal.throwIfAborted()`, which React Native lacks. */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw reasonOf(signal);
}

/** Returns the result of `work`. Rejects with the signal's reason as soon as the signal aborts. */
export async function beforeAbort<Result>(
  signal: AbortSignal | undefined,
  work: () => Promise<Result> | Result,
): Promise<Result> {
  throwIfAborted(signal);
  let onAbort = (): void => undefined;
  const aborted = new Promise<never>((_resolve, reject) => {
    onAbort = () => reject(reasonOf(signal));
  });
  signal?.addEventListener("abort", onAbort);
  try {
    return await Promise.race([work(), aborted]);
  } finally {
    signal?.removeEventListener("abort", onAbort);
  }
}

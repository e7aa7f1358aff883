// Time, chance and the moments in which a device comes back to life, in one place, so that tests can have others.

/** Something that will happen unless it is stopped. */
export interface Timer {
  stop(): void;
}

export interface Timing {
  /** Calls back once after `ms` milliseconds. */
  after(ms: number, callback: () => void): Timer;
  /** At least 0, less than 1. */
  random(): number;
  /** Calls back when the network is back or the page is looked at again. Answers what ends this. */
  onWake(callback: () => void): () => void;
}

/** Of a page or of a runtime without pages. A page that is hidden goes on like any other: it is only woken when it is shown again. */
export const REAL_TIMING: Timing = {
  after(ms, callback) {
    const timer = setTimeout(callback, ms);
    return { stop: () => clearTimeout(timer) };
  },
  random: () => Math.random(),
  onWake(callback) {
    const { document, ...page } = pageOf(globalThis);
    const onVisible = (): void => {
      if (document?.visibilityState === "visible") callback();
    };
    page.addEventListener?.("online", callback);
    document?.addEventListener("visibilitychange", onVisible);
    return () => {
      page.removeEventListener?.("online", callback);
      document?.removeEventListener("visibilitychange", onVisible);
    };
  },
};

type Listen = (event: string, callback: () => void) => void;

/** What there is of a browser's global object. */
interface Page {
  readonly addEventListener?: Listen;
  readonly removeEventListener?: Listen;
  readonly document?: {
    readonly visibilityState: string;
    readonly addEventListener: Listen;
    readonly removeEventListener: Listen;
  };
}

function pageOf(global: object): Page {
  const { addEventListener, removeEventListener, document } = global as Page;
  return {
    ...(addEventListener && { addEventListener: addEventListener.bind(global) }),
    ...(removeEventListener && { removeEventListener: removeEventListener.bind(global) }),
    ...(document && { document }),
  };
}

/** Resolves after `ms` milliseconds, or earlier when `wake` is called. Rejects with the signal's reason. */
export function pause(
  timing: Timing,
  ms: number,
  signal: AbortSignal | undefined,
): Promise<void> & { wake(): void } {
  let wake = (): void => undefined;
  const done = new Promise<void>((resolve, reject) => {
    signal?.throwIfAborted();
    const finish = (settle: () => void) => (): void => {
      timer.stop();
      signal?.removeEventListener("abort", onAbort);
      settle();
    };
    const onAbort = finish(() => reject(signal?.reason as Error));
    wake = finish(resolve);
    const timer = timing.after(ms, wake);
    signal?.addEventListener("abort", onAbort);
  });
  return Object.assign(done, { wake: () => wake() });
}

/** Milliseconds to wait before the next try after `failures` in a row: full jitter under a ceiling that doubles, so that clients that
 * were cut off together do not come back together. */
export function backoff(timing: Timing, failures: number, baseMs: number, ceilingMs: number): number {
  return timing.random() * Math.min(ceilingMs, baseMs * 2 ** Math.min(failures - 1, 30));
}

// Clock, randomness and wake-up events in one place, replaceable in tests.

import { reasonOf, throwIfAborted } from "./linked-abort.ts";

/** A pending callback. */
export interface Timer {
  stop(): void;
}

export interface Timing {
  /** Calls back once after `ms` milliseconds. */
  after(ms: number, callback: () => void): Timer;
  /** Returns a number in [0, 1). */
  random(): number;
  /** Calls back when the network is back or the page is shown again. Returns a function that unsubscribes. */
  onWake(callback: () => void): () => void;
  /** Returns true if the network is known to be down. */
  isOffline?(): boolean;
  /** Returns true if the page is hidden. */
  isHidden?(): boolean;
}

/**
 * Timing of a page or of a runtime without pages. Hidden pages keep running; showing one again only wakes it.
 */
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
  isOffline: () => (globalThis as Page).navigator?.onLine === false,
  isHidden: () => (globalThis as Page).document?.visibilityState === "hidden",
};

type Listen = (event: string, callback: () => void) => void;

/** The part of a browser's global object used here. */
interface Page {
  readonly addEventListener?: Listen;
  readonly removeEventListener?: Listen;
  readonly navigator?: { readonly onLine?: boolean };
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

/** Resolves after `ms` milliseconds or when `wake` is called. Rejects with the signal's reason. */
export function pause(
  timing: Timing,
  ms: number,
  signal: AbortSignal | undefined,
): Promise<void> & { wake(): void } {
  let wake = (): void => undefined;
  const done = new Promise<void>((resolve, reject) => {
    throwIfAborted(signal);
    const finish = (settle: () => void) => (): void => {
      timer.stop();
      signal?.removeEventListener("abort", onAbort);
      settle();
    };
    const onAbort = finish(() => reject(reasonOf(signal)));
    wake = finish(resolve);
    const timer = timing.after(ms, wake);
    signal?.addEventListener("abort", onAbort);
  });
  return Object.assign(done, { wake: () => wake() });
}

/**
 * Returns milliseconds before the next try after `failures` in a row: full jitter under a ceiling that
 * doubles, so that clients cut off together do not reconnect together.
 */
export function backoff(timing: Timing, failures: number, baseMs: number, ceilingMs: number): number {
  return timing.random() * Math.min(ceilingMs, baseMs * 2 ** Math.min(failures - 1, 30));
}

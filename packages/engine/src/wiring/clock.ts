import type { Clock, Timer } from "../core/ports/driven/clock.ts";

/** Creates the clock of the machine. */
export function createSystemClock(): Clock {
  return {
    now: () => Date.now(),
    monotonic: () => performance.now(),
    after: startTimer,
    every: (ms, callback) => {
      const timer = setInterval(callback, ms).unref();
      return { stop: () => clearInterval(timer) };
    },
    sleep,
  };
}

function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) {
      reject(signal.reason as Error);
      return;
    }
    const onAbort = () => {
      timer.stop();
      reject(signal?.reason as Error);
    };
    const timer = startTimer(ms, () => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    });
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}

function startTimer(ms: number, callback: () => void): Timer {
  const timer = setTimeout(callback, ms).unref();
  return { stop: () => clearTimeout(timer) };
}

// Polls while no event stream is available.

import { ColloquyError } from "./colloquy-error.ts";
import { linkedAbort } from "./linked-abort.ts";
import { backoff, pause, type Timing } from "./timing.ts";

export interface Poller {
  /** Fetches the snapshot once. Returns whether the assistant is working. */
  ask(signal: AbortSignal): Promise<boolean>;
  rest(ms: number, signal: AbortSignal): Promise<void>;
  /** Ends the current pause. */
  retryNow(): void;
}

/** Average milliseconds between two polls, while the assistant works and while it does not. */
const BUSY_MS = 1_000;
const IDLE_MS = 4_000;
/** Milliseconds until a stream is tried again; doubled with each failed try. */
const TRIAL_MS = 15_000;
const TRIAL_CEILING_MS = 300_000;

/** Polls until `untilStream` resolves. Throws if a poll or that throws. */
export async function poll(
  timing: Timing,
  signal: AbortSignal,
  poller: Poller,
  untilStream: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const abort = linkedAbort(signal);
  let end: { readonly error: unknown } | null = null;
  const finish = (error: unknown): void => {
    end = { error };
    poller.retryNow();
  };
  const trials = untilStream(abort.signal).then(() => finish(null), finish);
  const ended = (): typeof end => end;
  try {
    while (ended() === null) {
      const isBusy = await poller.ask(abort.signal);
      if (ended() !== null) break;
      await poller.rest((isBusy ? BUSY_MS : IDLE_MS) * (0.75 + timing.random() / 2), abort.signal);
    }
    const error = ended()?.error ?? null;
    if (error !== null) throw error as Error;
  } finally {
    abort.abort(new ColloquyError("Polling ended.", { code: "stopped" }));
    abort.release();
    await trials;
  }
}

/** Resolves once `tryStream` returns true. Retries it with backoff, as after `failures` tries. */
export async function untilStreamWorks(
  timing: Timing,
  signal: AbortSignal,
  failures: number,
  tryStream: () => Promise<boolean>,
): Promise<void> {
  for (let trial = 1 + failures; ; trial += 1) {
    await pause(timing, TRIAL_MS + backoff(timing, trial, TRIAL_MS, TRIAL_CEILING_MS), signal);
    if (await tryStream()) return;
  }
}

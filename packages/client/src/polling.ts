// Polls on networks that block streams, and periodically probes for streams.

import { ColloquyError } from "./colloquy-error.ts";
import { linkedAbort } from "./linked-abort.ts";
import { backoff, pause } from "./timing.ts";
import type { Transport } from "./transport.ts";
import { readUpdates } from "./update-stream.ts";

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

/** Polls until a stream works. Throws if a poll throws. */
export async function poll(
  transport: Transport,
  sessionId: string,
  signal: AbortSignal,
  poller: Poller,
): Promise<void> {
  const abort = linkedAbort(signal);
  let isOver = false;
  const trials = untilStreamWorks(transport, sessionId, abort.signal).then(
    () => {
      isOver = true;
      poller.retryNow();
    },
    () => undefined,
  );
  try {
    while (!isOver) {
      const isBusy = await poller.ask(abort.signal);
      const { timing } = transport;
      if (!isOver)
        await poller.rest((isBusy ? BUSY_MS : IDLE_MS) * (0.75 + timing.random() / 2), abort.signal);
    }
  } finally {
    abort.abort(new ColloquyError("Polling ended.", { code: "stopped" }));
    abort.release();
    await trials;
  }
}

/**
 * Resolves once a stream delivers bytes. Discards its events: the snapshot has moved on since, and the next
 * stream resumes from it.
 */
async function untilStreamWorks(transport: Transport, sessionId: string, signal: AbortSignal): Promise<void> {
  let works = false;
  const reader = { onOpen: () => void (works = true), onFrame: () => false };
  for (let trial = 1; !works; trial += 1) {
    const jitter = backoff(transport.timing, trial, TRIAL_MS, TRIAL_CEILING_MS);
    await pause(transport.timing, TRIAL_MS + jitter, signal);
    try {
      await readUpdates(transport, sessionId, null, reader, signal);
    } catch (error) {
      if (signal.aborted || !(error instanceof ColloquyError)) throw error;
    }
  }
}

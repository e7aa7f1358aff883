// One connection to a session's event stream, from open to end.

import { createEventStreamParser, type Frame } from "./event-stream-parser.ts";
import { ColloquyError } from "./colloquy-error.ts";
import { linkedAbort, throwIfAborted, type LinkedAbort } from "./linked-abort.ts";
import { networkFailed, type Transport } from "./transport.ts";
import type { Timer, Timing } from "./timing.ts";

/**
 * Reason for the end of a stream. `ended`: closed by the service or the network; `silent`: no bytes for too long;
 * `no stream`: the response is not an event stream; `left`: stopped by the reader.
 */
export type StreamEnd = "ended" | "silent" | "no stream" | "left";

export function noStreams(): ColloquyError {
  const message =
    "This runtime's fetch does not support streaming. Pass one that does as `fetch`, such as `expo/fetch`.";
  return new ColloquyError(message, { code: "no_streams" });
}

export interface StreamReader {
  /** Called when the first bytes arrive. */
  onOpen(): void;
  /** Returns false to stop reading. */
  onFrame(frame: Frame): boolean;
}

/** Maximum milliseconds until the first bytes arrive. The service sends some immediately. */
const OPENING_MS = 8_000;
/**
 * Milliseconds without bytes after which the connection counts as dead. The service sends a heartbeat every 15
 * seconds.
 */
const SILENCE_MS = 40_000;

/**
 * Reads the events after the event id `after` (`null`: only new events) until the stream ends. Throws a
 * `ColloquyError` if the service rejects the request or is unreachable, and the signal's reason if it aborts.
 */
export async function readUpdates(
  transport: Transport,
  sessionId: string,
  after: string | null,
  reader: StreamReader,
  signal: AbortSignal,
): Promise<StreamEnd> {
  const abort = linkedAbort(signal);
  const silence = new SilenceWatch(transport.timing, abort);
  try {
    silence.expect(OPENING_MS);
    const response = await transport.open({
      path: "/api/updates",
      query: { include: `tools,messages,state${transport.includesReasoning ? ",reasoning" : ""}` },
      headers: {
        "X-Session-Id": sessionId,
        Accept: "text/event-stream",
        "Last-Event-ID": after ?? undefined,
      },
      signal: abort.signal,
    });
    const isStream = /^text\/event-stream\b/i.test(response.headers.get("content-type") ?? "");
    // React Native's `fetch` has no `response.body`.
    if (isStream && !response.body) throw noStreams();
    return isStream && response.body ? await readBody(response.body, reader, silence) : "no stream";
  } catch (error) {
    throwIfAborted(signal);
    if (silence.isTooLong) return "silent";
    throw error;
  } finally {
    silence.stop();
    abort.abort(new ColloquyError("The stream is closed.", { code: "stream_over" }));
    abort.release();
  }
}

async function readBody(
  body: ReadableStream<Uint8Array>,
  reader: StreamReader,
  silence: SilenceWatch,
): Promise<StreamEnd> {
  const bytes = body.getReader();
  let keepReading = true;
  let isOpen = false;
  const parse = createEventStreamParser((frame) => {
    keepReading &&= reader.onFrame(frame);
  });
  while (keepReading) {
    const { done, value } = await bytes.read().catch((cause: unknown) => {
      throw networkFailed(cause);
    });
    if (done) return "ended";
    silence.expect(SILENCE_MS);
    if (!isOpen) reader.onOpen();
    isOpen = true;
    parse(value);
  }
  return "left";
}

/** Aborts a connection on which no bytes arrive in time. */
class SilenceWatch {
  readonly #timing: Timing;
  readonly #abort: LinkedAbort;
  #timer: Timer | null = null;
  isTooLong = false;

  constructor(timing: Timing, abort: LinkedAbort) {
    this.#timing = timing;
    this.#abort = abort;
  }

  /** Expects bytes within `ms` milliseconds from now. */
  expect(ms: number): void {
    this.stop();
    this.#timer = this.#timing.after(ms, () => {
      this.isTooLong = true;
      this.#abort.abort(new ColloquyError("No bytes arrived in time.", { code: "timeout" }));
    });
  }

  stop(): void {
    this.#timer?.stop();
    this.#timer = null;
  }
}

// One connection to the stream of a session's events, from its opening to its end.

import { createEventStreamParser, type Frame } from "./event-stream-parser.ts";
import { ColloquyError } from "./colloquy-error.ts";
import { linkedAbort, type LinkedAbort } from "./linked-abort.ts";
import { networkFailed, type Transport } from "./transport.ts";
import type { Timer, Timing } from "./timing.ts";

/** How a stream came to an end: by the other side or with its connection, by silence, by what came being no stream, or by its reader. */
export type StreamEnd = "ended" | "silent" | "no stream" | "left";

export interface StreamReader {
  /** The first bytes are there: streams work here. */
  onOpen(): void;
  /** Answers whether to go on reading. */
  onFrame(frame: Frame): boolean;
}

/** The service says something at once; milliseconds in which it has to get here. */
const OPENING_MS = 8_000;
/** The service says something every 15 seconds; after so many milliseconds without it the connection is dead. */
const SILENCE_MS = 40_000;

/**
 * Reads the events after the one with the id `after` (`null`: those from now on), until the stream is over. Throws a `ColloquyError` when the service refuses or cannot
 * be reached, and the signal's reason.
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
      query: { include: "tools,messages,state" },
      headers: {
        "X-Session-Id": sessionId,
        Accept: "text/event-stream",
        "Last-Event-ID": after ?? undefined,
      },
      signal: abort.signal,
    });
    const isStream = /^text\/event-stream\b/i.test(response.headers.get("content-type") ?? "");
    return isStream && response.body !== null ? await readBody(response.body, reader, silence) : "no stream";
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    if (silence.isTooLong) return "silent";
    throw error;
  } finally {
    silence.stop();
    abort.abort(new ColloquyError("The stream is over.", { code: "stream_over" }));
    abort.release();
  }
}

async function readBody(
  body: ReadableStream<Uint8Array>,
  reader: StreamReader,
  silence: SilenceWatch,
): Promise<StreamEnd> {
  const bytes = body.getReader();
  let goesOn = true;
  let isOpen = false;
  const parse = createEventStreamParser((frame) => {
    goesOn &&= reader.onFrame(frame);
  });
  while (goesOn) {
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

/** Ends a connection on which nothing comes in time. */
class SilenceWatch {
  readonly #timing: Timing;
  readonly #abort: LinkedAbort;
  #timer: Timer | null = null;
  isTooLong = false;

  constructor(timing: Timing, abort: LinkedAbort) {
    this.#timing = timing;
    this.#abort = abort;
  }

  /** Something has to come within `ms` milliseconds from now. */
  expect(ms: number): void {
    this.stop();
    this.#timer = this.#timing.after(ms, () => {
      this.isTooLong = true;
      this.#abort.abort(new ColloquyError("Nothing came in time.", { code: "timeout" }));
    });
  }

  stop(): void {
    this.#timer?.stop();
    this.#timer = null;
  }
}

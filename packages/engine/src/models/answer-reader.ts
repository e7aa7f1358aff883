// Reads one streamed model response and forwards it to the provider package in normalized form. The packages wait for
// the connection to close, reject unexpected chunks, and drop the text before a failure. This reader ends the response
// where its protocol ends it, and reports a failure after the text.

import { setImmediate as turnOfTheLoop } from "node:timers/promises";
import { createParser, type EventSourceMessage } from "eventsource-parser";
import { withBody } from "../core/bounded-body.ts";
import { isJsonObject, type JsonValue } from "../core/json.ts";
import type { Clock } from "../core/ports/driven/clock.ts";
import { within } from "../core/waiting.ts";
import { AnswerFailure, type AnswerProblem } from "./answer-failure.ts";
import { type ChunkReader, type ProtocolName, reportedError, STREAM_PROTOCOLS } from "./stream-protocols.ts";

type Fetch = (url: string | URL | Request, init?: RequestInit) => Promise<Response>;

/** Maximum milliseconds to wait for the usage after a finish reason. */
const GRACE_MS = 2_000;
/** Maximum characters of one event. */
const MAX_EVENT = 4 * 1_024 * 1_024;
/** Maximum characters of a non-streaming response. */
const MAX_WHOLE = 4 * 1_024 * 1_024;
/** Maximum characters reported of a response that does not come from a model API. */
const MAX_FOREIGN = 10_000;

export interface AnswerReaderOptions {
  readonly protocol: ProtocolName;
  readonly fetch: Fetch;
  readonly clock: Pick<Clock, "monotonic" | "after">;
  /** Maximum milliseconds between chunks; `undefined` for no limit. */
  readonly timeoutMs: number | undefined;
  /** Called with warnings for the operator about responses that were accepted. */
  readonly onWarning: (warning: string) => void;
}

/** Thrown by `fetch` if the server sent a non-streaming response that the package must parse. */
export class WholeAnswerReceived extends Error {
  readonly text: string;

  constructor(text: string) {
    super("The provider sent a whole answer in place of a stream");
    this.name = "WholeAnswerReceived";
    this.text = text;
  }
}

interface SentEvent {
  readonly event?: string | null | undefined;
  readonly data: string;
}

export class AnswerReader {
  /** Failure to report after the received text; `null` if there is none. */
  failure: AnswerFailure | null = null;
  readonly #options: AnswerReaderOptions;
  readonly #chunks: ChunkReader;
  /** Normalized chunks that the package has not read yet. */
  readonly #queue: string[] = [];
  #address = "";
  #request = "";
  #hasContent = false;
  /** True if the usage has arrived after the content. */
  #isCounted = false;
  #ended = false;
  /** Deadline for the usage, set by a finish reason; `null` before. */
  #endsAt: number | null = null;
  #lastEventAt: number;

  constructor(options: AnswerReaderOptions) {
    this.#options = options;
    this.#chunks = STREAM_PROTOCOLS[options.protocol].reader();
    this.#lastEventAt = options.clock.monotonic();
  }

  /**
   * Sends the request. Resolves on the first chunk, so that an error sent instead of a stream rejects like an error
   * status.
   */
  readonly fetch: Fetch = async (url, init) => {
    const { fetch } = this.#options;
    this.#address = url instanceof Request ? url.url : String(url);
    this.#request = typeof init?.body === "string" ? init.body : "";
    const answering = fetch(url, init);
    const response = await this.#inTime(answering);
    if (response === "late") {
      answering.then((late) => late.body?.cancel()).catch(() => undefined);
      throw this.#fail("silent");
    }
    if (!response.ok) return response;
    const reader = (response.body ?? new Blob([]).stream()).getReader();
    const events = this.#read(reader);
    const first = await events.next();
    if (first.done === true && this.failure !== null) throw this.failure;
    return withBody(streamResponse(response), toBody(first, events, reader));
  };

  /** Yields normalized chunks until the response ends, and closes the connection. */
  async *#read(reader: ReadableStreamDefaultReader<Uint8Array>): AsyncGenerator<string, void> {
    const decoder = new TextDecoder();
    const body = new AnswerBody({
      event: (event) => this.#receive(event),
      tooLong: () => this.#fail("unreadable", `an event of more than ${MAX_EVENT} characters`),
    });
    try {
      while (!this.#ended) {
        // Buffered chunks resolve without leaving the microtask queue. Yield, so that timers and other
        // requests can run.
        await turnOfTheLoop();
        const read = await this.#inTime(reader.read());
        if (read === "late") this.#late();
        else if (!read.done) body.feed(decoder.decode(read.value, { stream: true }));
        else {
          body.feed(decoder.decode());
          this.#finishBody(body.end());
        }
        yield* this.#queue.splice(0);
      }
    } catch (error) {
      if (error instanceof WholeAnswerReceived) throw error;
      this.#break(error);
    } finally {
      // Close the connection and ignore its error.
      reader.cancel().catch(() => undefined);
    }
    yield* this.#queue.splice(0);
  }

  /** Resolves to `late` if the deadline passes first. */
  async #inTime<Result>(work: Promise<Result>): Promise<Result | "late"> {
    const { clock, timeoutMs = Infinity } = this.#options;
    const now = clock.monotonic();
    const ms = Math.min((this.#endsAt ?? Infinity) - now, this.#lastEventAt + timeoutMs - now);
    if (ms === Infinity) return await work;
    if (ms > 0) return await within<Result, "late">(work, "late", { clock, ms });
    work.catch(() => undefined);
    return "late";
  }

  #late(): void {
    if (this.#endsAt === null) this.#fail("silent");
    else this.#end();
  }

  #break(error: unknown): void {
    if (this.#endsAt === null) this.#fail("cut", "", error);
    else this.#end();
  }

  /** Ends a complete response. */
  #end(): void {
    if (this.#ended) return;
    this.#ended = true;
    const isFinished = this.#endsAt !== null;
    for (const chunk of this.#chunks.ending(isFinished)) this.#queue.push(JSON.stringify(chunk));
  }

  #receive({ event = null, data }: SentEvent): void {
    if (this.#ended) return;
    const text = data.trim();
    if (text === "") return;
    if (/^\[?done\]?$/i.test(text)) return this.#receiveDone();
    const value = parse(text);
    if (value !== undefined) {
      for (const chunk of Array.isArray(value) ? value : [value]) this.#receiveValue(event, chunk);
      return;
    }
    // Some servers separate events by single line breaks.
    const lines = text.split("\n");
    if (lines.length > 1 && lines.every((line) => isEventData(line.trim()))) {
      for (const line of lines) this.#receive({ event, data: line });
    } else if (event === "error") this.#fail("reported", text);
    else if (event === null || !/ping|keep|heartbeat/i.test(event)) {
      this.#fail(
        "unreadable",
        isComplaint(text) ? text : `an event that is not JSON, of ${text.length} characters`,
      );
    }
  }

  #receiveValue(event: string | null, value: JsonValue): void {
    if (this.#ended) return;
    if (!isJsonObject(value)) {
      // Ignore values other than objects, except in error events.
      if (event === "error") this.#fail("reported", JSON.stringify(value));
      return;
    }
    const error = reportedError(value, event);
    if (error !== null) {
      this.#fail("reported", typeof error === "string" ? error : JSON.stringify(error));
      return;
    }
    const { chunk, hasContent, progress } = this.#chunks.read(value);
    if (chunk === null) return;
    const now = this.#options.clock.monotonic();
    this.#lastEventAt = now;
    this.#hasContent ||= hasContent;
    this.#isCounted = progress === "counted" || (this.#isCounted && !hasContent);
    this.#queue.push(JSON.stringify(chunk));
    if (progress === "ended") this.#ended = true;
    // Some servers send the finish reason before the last content.
    else if (progress === "finished" && (this.#endsAt === null || hasContent)) this.#endsAt = now + GRACE_MS;
  }

  #receiveDone(): void {
    if (this.#endsAt === null && !this.#hasContent) {
      this.#fail("empty");
      return;
    }
    if (this.#endsAt === null)
      this.#options.onWarning("the provider ended an answer without a finish reason; it counts as complete");
    this.#end();
  }

  /** Handles the end of the connection. `whole` is the body if it is not an event stream. */
  #finishBody(whole: string | null): void {
    if (whole !== null && !this.#ended) this.#receiveWhole(whole);
    if (this.#ended) return;
    if (this.#endsAt !== null) this.#end();
    else if (this.#hasContent && !this.#isCounted) this.#fail("cut");
    else this.#receiveDone();
  }

  #receiveWhole(text: string): void {
    if (text.trim() === "") return;
    const value = parse(text);
    if (value === undefined) {
      const lines = text.split(/[\r\n]+/).filter((line) => line.trim() !== "");
      if (lines.length > 1 && lines.every((line) => isEventData(line.trim()))) {
        for (const line of lines) this.#receive({ data: line });
      } else this.#fail("foreign", text.slice(0, MAX_FOREIGN));
      return;
    }
    for (const answer of Array.isArray(value) ? value : [value]) {
      const whole = isJsonObject(answer) ? STREAM_PROTOCOLS[this.#options.protocol].whole(answer) : "not";
      const error = isJsonObject(answer) ? reportedError(answer, null) : null;
      if (error !== null) this.#receiveValue(null, answer);
      else if (whole === "as a chunk") this.#receiveValue(null, answer);
      else if (whole === "by the package") throw new WholeAnswerReceived(JSON.stringify(answer));
      else this.#fail("foreign", text.slice(0, MAX_FOREIGN));
    }
    if (!this.#ended && this.#endsAt === null) this.#receiveDone();
  }

  /** Ends the response as failed, or as complete if it has a finish reason. Returns the failure. */
  #fail(problem: AnswerProblem, body = "", cause?: unknown): AnswerFailure {
    const details = { body, address: this.#address, request: this.#request, cause };
    const failure = new AnswerFailure(problem, details);
    if (this.#endsAt === null) {
      this.failure ??= failure;
      this.#ended = true;
    } else {
      this.#options.onWarning(`the provider sent something after the end of an answer (${problem})`);
      this.#end();
    }
    return failure;
  }
}

/** Splits an event stream into events, or collects any other body. */
class AnswerBody {
  readonly #onEvent: (event: EventSourceMessage) => void;
  readonly #tooLong: () => void;
  #kind: "unknown" | "events" | "whole" = "unknown";
  #text = "";
  readonly #parser;

  constructor(on: { readonly event: (event: EventSourceMessage) => void; readonly tooLong: () => void }) {
    this.#onEvent = on.event;
    this.#tooLong = on.tooLong;
    this.#parser = createParser({
      onEvent: (event) => this.#onEvent(event),
      maxBufferSize: MAX_EVENT,
      onError: ({ type, line }) => {
        if (type === "max-buffer-size-exceeded") this.#tooLong();
        // Some gateways drop the field name `data:` of single chunks.
        else if (line?.startsWith("{") === true)
          this.#onEvent({ event: undefined, id: undefined, data: line });
      },
    });
  }

  feed(text: string): void {
    if (this.#kind === "events") return this.#feedParser(text);
    this.#text += text;
    if (this.#kind === "unknown") this.#kind = kindOf(this.#text);
    if (this.#kind === "events") {
      const events = this.#text.trimStart();
      this.#text = "";
      this.#feedParser(events);
    } else if (this.#text.length > MAX_WHOLE) this.#tooLong();
  }

  /** Returns the body if it is not an event stream, otherwise `null`. */
  end(): string | null {
    if (this.#kind !== "events") return this.#text;
    // The last event may lack its blank line.
    this.#feedParser("\n\n");
    return null;
  }

  #feedParser(text: string): void {
    try {
      this.#parser.feed(text);
    } catch {
      this.#tooLong();
    }
  }
}

/** Detects an event stream by its first field or comment, because servers send wrong content types. */
function kindOf(text: string): "unknown" | "events" | "whole" {
  const start = text.trimStart();
  if (/^(?:data|event|id|retry)?:/.test(start)) return "events";
  const isShort = start.length < 6;
  return start === "" ||
    (isShort && ["data:", "event:", "id:", "retry:"].some((field) => field.startsWith(start)))
    ? "unknown"
    : "whole";
}

/** Returns true if the text is an error message, not part of a response. */
function isComplaint(text: string): boolean {
  return (
    !/^[{["]/.test(text) && /error|invalid|must|fail|exceed|denied|limit|not found|unavailable/i.test(text)
  );
}

function isEventData(text: string): boolean {
  return text === "" || /^\[?done\]?$/i.test(text) || isJsonObject(parse(text));
}

function parse(text: string): JsonValue | undefined {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return undefined;
  }
}

/** Returns the response with status 200 and the content type of an event stream, as the packages require. */
function streamResponse(response: Response): Response {
  const headers = new Headers(response.headers);
  headers.set("content-type", "text/event-stream");
  const changed = new Response("", { status: 200, headers });
  Object.defineProperty(changed, "url", { value: response.url });
  return changed;
}

function toBody(
  first: IteratorResult<string, void>,
  events: AsyncGenerator<string, void>,
  reader: ReadableStreamDefaultReader<Uint8Array>,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const encoder = new TextEncoder();
  let next: IteratorResult<string, void> | null = first;
  return new ReadableStream(
    {
      async pull(controller) {
        const event = next ?? (await events.next());
        next = null;
        if (event.done === true) controller.close();
        else controller.enqueue(encoder.encode(`data: ${event.value}\n\n`));
      },
      // Do not call `events.return()`: it would wait for a pending read of the connection.
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}

// `fetch` with a size limit for responses and for each event of a stream. An oversized response becomes a
// protocol error, so that it fails only its own request.

import type { FetchLike } from "@modelcontextprotocol/client";
import { acceptEncodings, boundBody, type JsonValue, withBody } from "@colloquy/engine/tool-source";
import { cutAnswer, HEAD_BYTES, idOfAnswer, MAX_MESSAGE_BYTES } from "./cut-answer.ts";
import { normalizeMessage } from "./normalize-message.ts";

/** Maximum number of bytes to skip after an oversized event was cut. */
const MAX_SKIPPED_BYTES = 16 * MAX_MESSAGE_BYTES;
const EVENT_ENDS = ["\n\n", "\r\n\r\n", "\r\r"].map((end) => Buffer.from(end));

type Chunk = Uint8Array<ArrayBuffer>;
type Bytes = TransformStream<Chunk, Chunk>;

export function boundFetch(fetch: FetchLike): FetchLike {
  return async (url, init) => {
    const response = await fetch(url, { ...init, headers: acceptEncodings(init?.headers) });
    const rewrite = rewriteOf(response, init?.body);
    const maxBytes = rewrite === null ? MAX_MESSAGE_BYTES : Number.POSITIVE_INFINITY;
    const body = boundBody(response, { maxBytes, tooLarge: tooMuch });
    if (rewrite === null) return withBody(response, body);
    const bounded = body?.pipeThrough(rewrite) ?? null;
    return withBody(
      response,
      isStream(response) ? (bounded?.pipeThrough(normalizeEvents()) ?? null) : bounded,
    );
  };
}

/** Returns what replaces oversized messages of a response to `requested`; `null` if a larger response fails. */
function rewriteOf({ headers, ok }: Response, requested: unknown): Bytes | null {
  const type = headers.get("content-type") ?? "";
  if (isStream({ headers })) return boundEvents(requested);
  return ok && type.includes("json") ? boundMessage(requested) : null;
}

function isStream({ headers }: Pick<Response, "headers">): boolean {
  return headers.get("content-type")?.includes("text/event-stream") === true;
}

/** Buffers one message, and passes it on when it is complete. */
function boundMessage(requested: unknown): Bytes {
  const parts: Chunk[] = [];
  let bytes = 0;
  return new TransformStream({
    transform(chunk, controller) {
      bytes += chunk.byteLength;
      parts.push(chunk);
      if (bytes <= MAX_MESSAGE_BYTES) return;
      controller.enqueue(Buffer.from(answerFor(requested, headOf(parts))));
      controller.terminate();
    },
    flush(controller) {
      controller.enqueue(normalized(Buffer.concat(parts)));
    },
  });
}

/** Normalizes a message. Passes on what is not JSON. */
function normalized(bytes: Buffer<ArrayBuffer>): Chunk {
  try {
    return Buffer.from(JSON.stringify(normalizeMessage(JSON.parse(bytes.toString()) as JsonValue)));
  } catch {
    return bytes;
  }
}

/** Normalizes the messages of a stream, each when its event is complete. Events are bounded already. */
function normalizeEvents(): Bytes {
  let rest: Buffer<ArrayBuffer> = Buffer.alloc(0);
  return new TransformStream({
    transform(chunk, controller) {
      rest = Buffer.concat([rest, chunk]);
      for (let end = firstEventEnd(rest); end !== null; end = firstEventEnd(rest)) {
        controller.enqueue(normalizedEvent(rest.subarray(0, end)));
        rest = rest.subarray(end);
      }
    },
    flush(controller) {
      if (rest.length > 0) controller.enqueue(rest);
    },
  });
}

function normalizedEvent(event: Buffer<ArrayBuffer>): Chunk {
  const lines = event.toString().split(/\r\n|\r|\n/);
  const isData = (line: string): boolean => line === "data" || line.startsWith("data:");
  const data = lines.filter(isData).map((line) => line.replace(/^data:? ?/, ""));
  const others = lines.filter((line) => line !== "" && !isData(line));
  const isMessage = others.every((line) => !line.startsWith("event:") || /^event: ?message$/.test(line));
  if (data.length === 0 || !isMessage) return event;
  const message = normalized(Buffer.from(data.join("\n")));
  const written = Buffer.from(message)
    .toString()
    .split("\n")
    .map((line) => `data: ${line}`);
  return Buffer.from(`${[...others, ...written].join("\n")}\n\n`);
}

/** Returns the index after the first event of a buffer; `null` if it is not complete. */
function firstEventEnd(buffer: Buffer): number | null {
  const ends = EVENT_ENDS.flatMap((end) => {
    const at = buffer.indexOf(end);
    return at < 0 ? [] : [at + end.length];
  });
  return ends.length === 0 ? null : Math.min(...ends);
}

function boundEvents(requested: unknown): Bytes {
  /** Chunks of the current event. */
  let parts: Uint8Array[] = [];
  let bytes = 0;
  let skipped: SkippedEvent | null = null;
  return new TransformStream({
    transform(chunk, controller) {
      const rest = skipped === null ? Buffer.from(chunk) : skipped.take(chunk);
      if (rest === null) return;
      const end = lastEventEnd(rest);
      if (end >= 0 || skipped !== null) [parts, bytes] = [[], 0];
      skipped = null;
      const begun = rest.subarray(Math.max(end, 0));
      if (bytes < HEAD_BYTES) parts.push(begun);
      bytes += begun.byteLength;
      controller.enqueue(rest);
      if (bytes <= MAX_MESSAGE_BYTES) return;
      const answer = answerFor(requested, dataOf(headOf(parts)));
      // The name turns the part that was already passed on into an event without listeners.
      controller.enqueue(Buffer.from(`\nevent: cut\n\ndata: ${answer}\n\n`));
      // A stream of one request has nothing else to deliver; a shared stream continues.
      if (idOfRequest(requested) !== null) controller.terminate();
      else skipped = new SkippedEvent();
    },
  });
}

/** Skips the rest of an oversized event, up to a limit. */
class SkippedEvent {
  #bytes = 0;
  #last: Buffer<ArrayBuffer> = Buffer.alloc(0);

  /** Returns the bytes after the event, or `null` while it has not ended. */
  take(chunk: Chunk): Buffer<ArrayBuffer> | null {
    // The end of the event may span two chunks.
    const known = Buffer.concat([this.#last, chunk]);
    const ends = EVENT_ENDS.map((end) => known.indexOf(end)).filter((at) => at >= 0);
    if (ends.length > 0) return known.subarray(Math.min(...ends));
    this.#last = Buffer.from(known.subarray(-3));
    this.#bytes += chunk.byteLength;
    if (this.#bytes > MAX_SKIPPED_BYTES) throw tooMuch();
    return null;
  }
}

/** Throws if the request is unknown, which makes the whole stream unusable. */
function answerFor(requested: unknown, head: string): string {
  const id = idOfRequest(requested) ?? idOfAnswer(head, "");
  if (id === null) throw tooMuch();
  return JSON.stringify(cutAnswer(id, head));
}

function idOfRequest(body: unknown): string | number | null {
  if (typeof body !== "string") return null;
  const { id } = JSON.parse(body) as { readonly id?: unknown };
  return typeof id === "string" || typeof id === "number" ? id : null;
}

function headOf(parts: readonly Uint8Array[]): string {
  return Buffer.concat(parts).subarray(0, HEAD_BYTES).toString();
}

function dataOf(event: string): string {
  return event.replace(/^[\s\S]*?data: ?/, "").replaceAll(/\r?\ndata: ?/g, "\n");
}

/** Returns the index of the last event end in a chunk; negative if there is none. */
function lastEventEnd(chunk: Buffer): number {
  return Math.max(...EVENT_ENDS.map((end) => chunk.lastIndexOf(end)));
}

function tooMuch(): Error {
  return new Error(`The server sent more than ${MAX_MESSAGE_BYTES} bytes at once.`);
}

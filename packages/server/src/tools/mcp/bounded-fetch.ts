// `fetch` for servers that may send without end: an answer, and each event of a stream, has a limit. An answer beyond it becomes an error
// of the protocol, so that it costs its own request alone.

import type { FetchLike } from "@modelcontextprotocol/client";
import { cutAnswer, HEAD_BYTES, idOfAnswer, MAX_MESSAGE_BYTES } from "./cut-answer.ts";

/** Bytes of the rest of an event that is too large. */
const MAX_SKIPPED_BYTES = 16 * MAX_MESSAGE_BYTES;
const EVENT_ENDS = ["\n\n", "\r\n\r\n", "\r\r"].map((end) => Buffer.from(end));

type Bytes = TransformStream<Uint8Array, Uint8Array>;

export function boundFetch(fetch: FetchLike): FetchLike {
  return async (url, init) => {
    const response = await fetch(url, init);
    if (response.body === null) return response;
    const type = response.headers.get("content-type") ?? "";
    const requested = init?.body;
    const bound = type.includes("text/event-stream")
      ? boundEvents(requested)
      : response.ok && type.includes("json")
        ? boundMessage(requested)
        : boundBytes();
    const { status, statusText, headers } = response;
    const bounded = new Response(response.body.pipeThrough(bound), { status, statusText, headers });
    // A redirect that is judged later is judged by the address that was asked.
    Object.defineProperty(bounded, "url", { value: response.url });
    return bounded;
  };
}

function boundBytes(): Bytes {
  let bytes = 0;
  return new TransformStream({
    transform(chunk, controller) {
      bytes += chunk.byteLength;
      if (bytes > MAX_MESSAGE_BYTES) throw tooMuch();
      controller.enqueue(chunk);
    },
  });
}

/** One message, which is passed on when it is there as a whole. */
function boundMessage(requested: unknown): Bytes {
  const parts: Uint8Array[] = [];
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
      for (const part of parts) controller.enqueue(part);
    },
  });
}

function boundEvents(requested: unknown): Bytes {
  /** Of the event that has not ended. */
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
      // What the reader has of the event gets a name that nobody listens to.
      controller.enqueue(Buffer.from(`\nevent: cut\n\ndata: ${answer}\n\n`));
      // The stream of one request has no more to say; others go on with what they have for others.
      if (idOfRequest(requested) !== null) controller.terminate();
      else skipped = new SkippedEvent();
    },
  });
}

/** What is left of an event that is too large, up to a limit. */
class SkippedEvent {
  #bytes = 0;
  #last = Buffer.alloc(0);

  /** What comes after the event; `null` while it has not ended. */
  take(chunk: Uint8Array): Buffer | null {
    // Its end may lie across two chunks.
    const known = Buffer.concat([this.#last, chunk]);
    const ends = EVENT_ENDS.map((end) => known.indexOf(end)).filter((at) => at >= 0);
    if (ends.length > 0) return known.subarray(Math.min(...ends));
    this.#last = Buffer.from(known.subarray(-3));
    this.#bytes += chunk.byteLength;
    if (this.#bytes > MAX_SKIPPED_BYTES) throw tooMuch();
    return null;
  }
}

/** Throws where nobody knows what is answered: then the stream as a whole cannot be used. */
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

/** Where in a chunk the last event ends; negative for nowhere. */
function lastEventEnd(chunk: Buffer): number {
  return Math.max(...EVENT_ENDS.map((end) => chunk.lastIndexOf(end)));
}

function tooMuch(): Error {
  return new Error(`The server sent more than ${MAX_MESSAGE_BYTES} bytes at once.`);
}

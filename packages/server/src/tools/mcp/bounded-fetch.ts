// `fetch` for servers that may send without end: an answer, and each event of a stream, has a limit.

import type { FetchLike } from "@modelcontextprotocol/client";

/** Bytes of an answer, or of one event of a stream. */
export const MAX_MESSAGE_BYTES = 4 * 1_024 * 1_024;

const EVENT_ENDS = ["\n\n", "\r\n\r\n", "\r\r"].map((end) => Buffer.from(end));

export function boundFetch(fetch: FetchLike, limit = MAX_MESSAGE_BYTES): FetchLike {
  return async (url, init) => {
    const response = await fetch(url, init);
    if (response.body === null) return response;
    const isStream = response.headers.get("content-type")?.includes("text/event-stream") ?? false;
    const body = response.body.pipeThrough(isStream ? limitEvents(limit) : limitWhole(limit));
    const { status, statusText, headers } = response;
    const bounded = new Response(body, { status, statusText, headers });
    // A redirect that is judged later is judged by the address that was asked.
    Object.defineProperty(bounded, "url", { value: response.url });
    return bounded;
  };
}

function limitWhole(limit: number): TransformStream<Uint8Array, Uint8Array> {
  return limitBytes(limit, () => -1);
}

function limitEvents(limit: number): TransformStream<Uint8Array, Uint8Array> {
  return limitBytes(limit, (chunk) => Math.max(...EVENT_ENDS.map((end) => chunk.lastIndexOf(end))));
}

/** `lastEnd` finds where in a chunk counting begins anew; negative for nowhere. */
function limitBytes(
  limit: number,
  lastEnd: (chunk: Buffer) => number,
): TransformStream<Uint8Array, Uint8Array> {
  let bytes = 0;
  return new TransformStream({
    transform(chunk, controller) {
      const end = lastEnd(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
      bytes = end < 0 ? bytes + chunk.byteLength : chunk.byteLength - end;
      if (bytes > limit) throw new Error(`The server sent more than ${limit} bytes at once.`);
      controller.enqueue(chunk);
    },
  });
}

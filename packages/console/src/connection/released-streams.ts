// Over HTTP/1.1, browsers open six connections per host for all tabs together, and an event stream occupies
// one. So hidden tabs release their streams: subscribers get a silent stream, which continues with the
// service's own, from the requested event, once the tab is shown.

import type { Away } from "./away.ts";
import { isEventStream, untilItsEnd } from "./event-stream-request.ts";

/** A comment of an event stream: it is open and nothing has happened. */
const NOTHING = new TextEncoder().encode(": tab hidden\n\n");

/** Returns `fetch` with event streams suspended while the page is away. */
export function withReleasedStreams(fetch: typeof globalThis.fetch, away: Away): typeof globalThis.fetch {
  return (input, init) => {
    if (!isEventStream(input)) return fetch(input, init);
    const open = (): Promise<Response> => openUntilAway(fetch, away, input, init);
    if (!away.isAway()) return open();
    const headers = { "Content-Type": "text/event-stream" };
    return Promise.resolve(new Response(quietUntilBack(open, away, init?.signal ?? null), { headers }));
  };
}

async function openUntilAway(
  fetch: typeof globalThis.fetch,
  away: Away,
  input: string | URL | Request,
  init: RequestInit | undefined,
): Promise<Response> {
  const left = new AbortController();
  const ignore = away.onChange(() => {
    ignore();
    left.abort(new DOMException("The tab is hidden.", "AbortError"));
  });
  const wanted = init?.signal ?? null;
  try {
    const signal = wanted === null ? left.signal : AbortSignal.any([wanted, left.signal]);
    return untilItsEnd(await fetch(input, { ...init, signal }), ignore);
  } catch (error) {
    ignore();
    throw error;
  }
}

function quietUntilBack(
  open: () => Promise<Response>,
  away: Away,
  wanted: AbortSignal | null,
): ReadableStream<Uint8Array> {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  const goOn = async (): Promise<void> => {
    const writer = writable.getWriter();
    // Settles when the body is read.
    void writer.write(NOTHING).catch(() => undefined);
    writer.releaseLock();
    await back(away, wanted);
    const response = await open();
    // The subscriber retries and gets the service's answer then.
    if (!response.ok || response.body === null) throw new TypeError("The stream could not be opened again.");
    await response.body.pipeTo(writable);
  };
  goOn().catch((error: unknown) => void writable.abort(error).catch(() => undefined));
  return readable;
}

/** Resolves when the page is shown again. Rejects with the reason of `wanted`. */
function back(away: Away, wanted: AbortSignal | null): Promise<void> {
  return new Promise((resolve, reject) => {
    const ignore = away.onChange(() => {
      if (!away.isAway()) leave(resolve);
    });
    const onAbort = (): void => leave(() => reject(wanted?.reason as Error));
    const leave = (settle: () => void): void => {
      ignore();
      wanted?.removeEventListener("abort", onAbort);
      settle();
    };
    if (wanted?.aborted === true) onAbort();
    else wanted?.addEventListener("abort", onAbort);
  });
}

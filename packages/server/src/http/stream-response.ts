// Answers a request with an event stream.

import type { ServerResponse } from "node:http";
import type { OpenStream } from "@colloquy/engine/internal/core/ports/driving/services";
import type { Admission } from "./admission.ts";
import type { Answers, Exchange } from "./answers.ts";
import { EventStream } from "./event-stream.ts";

interface StreamParts {
  readonly answers: Answers;
  readonly admission: Admission;
}

/**
 * Takes a slot for a stream of the session, and sends everything that `openStream` writes. A request that fails
 * before the first write gets a problem document; a later failure cuts the response off. `openStream` returns
 * `null` if it answered the request in another way.
 */
export async function sendStream(
  { answers, admission }: StreamParts,
  exchange: Exchange & { readonly sessionId: string },
  openStream: (stream: EventStream) => Promise<OpenStream | null>,
): Promise<void> {
  const { request, reply, sessionId } = exchange;
  const release = await admission.stream(request, sessionId);
  const stream = new EventStream(() => answers.stream(exchange), release);
  closeWith(reply.raw, stream);
  try {
    const open = await openStream(stream);
    if (open === null) return stream.closed();
    stream.attach(open);
    // Do not respond to a client that has disconnected in the meantime.
    reply.hijack();
  } catch (error) {
    const { begun } = stream;
    stream.closed();
    if (!begun) throw error;
    reply.raw.destroy();
  }
}

/** A separate function, so that the listener keeps the stream in memory, but not the request. */
function closeWith(response: ServerResponse, stream: EventStream): void {
  // The client may have disconnected in the meantime.
  if (response.closed) stream.closed();
  response.on("close", () => stream.closed());
}

// One request for a session's event stream with time-outs for its start and for silence.

import { request, type IncomingMessage } from "node:http";

/** Milliseconds of silence after which a stream counts as dead; heartbeats come every 15 s. */
const SILENCE_MS = 40_000;
/** Milliseconds within which a stream must start, else it is requested again. */
const ANSWER_MS = 5_000;

/**
 * Requests the events after a given one from a loopback port, with the headers of a session and its user. Rejects
 * without an answer; the caller reads the answer.
 */
export function requestStream(
  port: number,
  session: Readonly<Record<string, string>>,
  after: string,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const outgoing = request({
      host: "127.0.0.1",
      port,
      path: "/api/updates?include=messages,tools,state",
      headers: { ...session, accept: "text/event-stream", "last-event-id": after },
      signal,
      timeout: SILENCE_MS,
    });
    const late = setTimeout(() => outgoing.destroy(new Error("No answer")), ANSWER_MS);
    const settled = (): void => clearTimeout(late);
    outgoing.once("response", settled).once("close", settled);
    outgoing.once("response", resolve).once("error", reject).end();
    outgoing.once("timeout", () => outgoing.destroy(new Error("No heartbeat")));
  });
}

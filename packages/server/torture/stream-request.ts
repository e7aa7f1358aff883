// One request for a session's event stream, which is given up where nothing answers and where nothing comes any more.

import { request, type IncomingMessage } from "node:http";

/** Without even a heartbeat for this long (they come every 15 s) a stream is dead; in milliseconds. */
const SILENCE_MS = 40_000;
/** A stream that has not begun by then is asked for anew, in milliseconds. */
const ANSWER_MS = 5_000;

/** Asks on a port of the loopback for what comes after an event. Rejects when there is no answer; what it says is for whoever asks. */
export function requestStream(
  port: number,
  sessionId: string,
  after: string,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const outgoing = request({
      host: "127.0.0.1",
      port,
      path: "/api/updates?include=messages,tools,state",
      headers: { "x-session-id": sessionId, accept: "text/event-stream", "last-event-id": after },
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

// A server under strace with a few clients, killed at the end: its system calls, and when it acknowledged
// messages.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createHttpClient } from "../harness/http-request.ts";
import type { Random } from "../harness/random.ts";
import { findFreePort, ServerProcess } from "../harness/server-process.ts";
import { readSystemCalls, STRACE_ARGUMENTS, type SystemCallEvent } from "./system-calls.ts";

export interface TracedMessage {
  readonly sessionId: string;
  /** Unique, and without characters that JSON or URLs escape. */
  readonly text: string;
}

export interface TracedRun {
  readonly events: readonly SystemCallEvent[];
  /** Messages answered with 200. */
  readonly messages: readonly TracedMessage[];
  /** The server's data directory. */
  readonly dataDirectory: string;
}

const CLIENTS = 6;
/** Messages per session of a client. */
const MESSAGES_A_SESSION = 4;

/**
 * Runs `main` in the empty `directory` until each of six clients has had `perClient` messages acknowledged.
 */
export async function runTraced(
  main: string,
  directory: string,
  perClient: number,
  random: Random,
): Promise<TracedRun> {
  const log = join(directory, "strace.log");
  const port = await findFreePort();
  const wrapper = ["strace", ...STRACE_ARGUMENTS, "-o", log];
  const server = new ServerProcess({ main, directory, port, wrapper });
  const client = createHttpClient(port);
  const messages: TracedMessage[] = [];
  const chat = async (name: string) => {
    let sessionId = random.uuid();
    for (let count = 0; count < perClient; count += 1) {
      if (count % MESSAGES_A_SESSION === 0) sessionId = random.uuid();
      const text = `traced_${name}_${count}_end`;
      const headers = { "x-session-id": sessionId };
      const answer = await client.request(`/api/chat?message=${text}`, { method: "POST", headers });
      if (answer.status !== 200) throw new Error(`A chat was answered with ${answer.status}: ${answer.body}`);
      messages.push({ sessionId, text });
    }
  };
  try {
    await server.ready(60_000);
    await Promise.all(Array.from({ length: CLIENTS }, (_, index) => chat(`client${index}`)));
  } finally {
    client.close();
    await server.end("SIGKILL");
  }
  return {
    events: readSystemCalls(readFileSync(log, "latin1")),
    messages,
    dataDirectory: join(directory, "data"),
  };
}

/** Returns the positions in the log of each message's arrival and answer. Throws if one is missing. */
export function placesOf(
  run: Pick<TracedRun, "events" | "messages">,
): (TracedMessage & { readonly received: number; readonly sent: number })[] {
  return run.messages.map((message) => {
    const has = (kind: "received" | "sent") => (event: SystemCallEvent) =>
      event.kind === kind && event.data.includes(message.text);
    const received = run.events.findIndex(has("received"));
    const sent = run.events.findIndex(has("sent"));
    if (received < 0 || sent < received)
      throw new Error(`The log does not contain the answer to ${message.text}`);
    return { ...message, received, sent };
  });
}

// A server under strace, used by a few clients and then killed: what it did, and what it had acknowledged when.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createHttpClient } from "../harness/http-request.ts";
import type { Random } from "../harness/random.ts";
import { findFreePort, ServerProcess } from "../harness/server-process.ts";
import { readSystemCalls, STRACE_ARGUMENTS, type Happening } from "./system-calls.ts";

export interface TracedMessage {
  readonly sessionId: string;
  /** Different from every other message, and free of characters that JSON or a URL writes in another way. */
  readonly text: string;
}

export interface TracedRun {
  readonly happenings: readonly Happening[];
  /** All were answered with 200. */
  readonly messages: readonly TracedMessage[];
  /** Where the server kept its data. */
  readonly dataDirectory: string;
}

const CLIENTS = 6;
/** Messages that a client sends to one session before it begins another. */
const MESSAGES_A_SESSION = 4;

/** Runs `main` in the empty `directory` until each of six clients has had `perClient` messages acknowledged. */
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
    happenings: readSystemCalls(readFileSync(log, "latin1")),
    messages,
    dataDirectory: join(directory, "data"),
  };
}

/** Where in the log each message arrived and where its answer was handed over. Throws when one of them is not there. */
export function placesOf(
  run: Pick<TracedRun, "happenings" | "messages">,
): (TracedMessage & { readonly received: number; readonly sent: number })[] {
  return run.messages.map((message) => {
    const has = (kind: "received" | "sent") => (happening: Happening) =>
      happening.kind === kind && happening.data.includes(message.text);
    const received = run.happenings.findIndex(has("received"));
    const sent = run.happenings.findIndex(has("sent"));
    if (received < 0 || sent < received)
      throw new Error(`The log does not show the answer to ${message.text}`);
    return { ...message, received, sent };
  });
}

// A stream as the service sends it, with everything in it that is hard to cut: letters of several bytes, line ends in texts, a tool call.

import { randomUUID } from "node:crypto";
import type { Snapshot } from "../src/index.ts";
import type { Served } from "./served.ts";

export interface StreamRecord {
  /** The snapshot that the stream begins after, and the one that it leads to. */
  readonly before: Snapshot;
  readonly after: Snapshot;
  readonly bytes: Buffer;
}

/** Has a conversation, and takes down what the stream says of it. */
export async function recordStream({ direct, model, url }: Served): Promise<StreamRecord> {
  const id = randomUUID();
  const before = await direct.getState(id, { userState: { evm: { chain_id: 1 } } });
  const sending = direct.sendMessage(id, "Grüße 🫖 漢字", { wait: true });
  (await model.next()).callTool("current_time", {}).finish("tool-calls");
  (await model.next()).say("𝄞 ", "\r\n", "data: x").finish();
  await sending;
  await direct.renameThread(id, "Tee\u2028");
  const after = await direct.getState(id);
  return { before, after, bytes: await record(url, before, after) };
}

/** What the stream says after one snapshot, up to the other. */
async function record(url: string, before: Snapshot, after: Snapshot): Promise<Buffer> {
  const abort = new AbortController();
  const response = await fetch(`${url}/api/updates?include=tools,messages,state`, {
    headers: {
      "X-Session-Id": before.session_id,
      Accept: "text/event-stream",
      "Last-Event-ID": before.last_event_id,
    },
    signal: abort.signal,
  });
  let recorded = Buffer.alloc(0);
  for await (const chunk of response.body!) {
    recorded = Buffer.concat([recorded, chunk as Uint8Array]);
    const text = recorded.toString();
    if (text.includes(`id: ${after.last_event_id}\n`) && text.endsWith("\n\n")) break;
  }
  abort.abort();
  return recorded;
}

// A recorded stream of the service with everything that is hard to split: multi-byte characters, line ends in
// texts, a tool call.

import { randomUUID } from "node:crypto";
import type { Snapshot } from "../src/index.ts";
import type { Served } from "./served.ts";

export interface StreamRecord {
  /** The snapshots before and after the recorded events. */
  readonly before: Snapshot;
  readonly after: Snapshot;
  readonly bytes: Buffer;
}

/** Holds a conversation and records its stream. */
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

/** Returns the bytes of the stream from one snapshot to the other. */
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

// A stream as the service sends it, from the beginning of a session: however it is cut, the same is read from it, and what is read makes the
// snapshot of the beginning the one of the end.

import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createEventStreamParser, type Frame } from "../src/event-stream-parser.ts";
import { fold, type SessionUpdate, type Snapshot } from "../src/index.ts";
import { serve, type Served } from "./served.ts";

let served: Served;
let before: Snapshot;
let after: Snapshot;
let bytes: Uint8Array;

beforeAll(async () => {
  served = await serve();
  const id = randomUUID();
  before = await served.direct.getState(id, { userState: { evm: { chain_id: 1 } } });
  const sending = served.direct.sendMessage(id, "Grüße 🫖 漢字", { wait: true });
  (await served.model.next()).callTool("current_time", {}).finish("tool-calls");
  (await served.model.next()).say("𝄞 ", "\r\n", "data: x").finish();
  await sending;
  await served.direct.renameThread(id, "Tee\u2028");
  after = await served.direct.getState(id);
  bytes = await record(id, after.last_event_id);
});
afterAll(() => served.stop());

/** What the stream says after `before`, up to the event with this id. */
async function record(id: string, last: string): Promise<Uint8Array> {
  const abort = new AbortController();
  const response = await fetch(`${served.url}/api/updates?include=tools,messages,state`, {
    headers: { "X-Session-Id": id, Accept: "text/event-stream", "Last-Event-ID": before.last_event_id },
    signal: abort.signal,
  });
  let recorded = Buffer.alloc(0);
  for await (const chunk of response.body!) {
    recorded = Buffer.concat([recorded, chunk as Uint8Array]);
    const text = recorded.toString();
    if (text.includes(`id: ${last}\n`) && text.endsWith("\n\n")) break;
  }
  abort.abort();
  return recorded;
}

function parse(...pieces: readonly Uint8Array[]): Frame[] {
  const frames: Frame[] = [];
  const take = createEventStreamParser((frame) => frames.push(frame));
  for (const piece of pieces) take(piece);
  return frames;
}

it("is read the same wherever it is cut", () => {
  const whole = parse(bytes);
  expect(whole.length).toBeGreaterThan(8);
  for (let at = 0; at <= bytes.length; at += 1) {
    const frames = parse(bytes.subarray(0, at), bytes.subarray(at));
    if (JSON.stringify(frames) !== JSON.stringify(whole)) expect([at, frames]).toEqual([at, whole]);
  }
});

it("makes the snapshot of the end of the one of the beginning", () => {
  const folded = parse(bytes).reduce((now, { id, data }) => {
    if (data === null) return now;
    return fold(now, JSON.parse(data) as SessionUpdate, id)!.snapshot;
  }, before);
  expect(folded).toEqual(after);
});

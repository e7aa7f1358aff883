// A stream as the service sends it, from the beginning of a session: however it is cut, the same is read from it, and what is read makes the
// snapshot of the beginning the one of the end.

import { afterAll, beforeAll, expect, it } from "vitest";
import { createEventStreamParser, type Frame } from "../src/event-stream-parser.ts";
import { fold, type SessionUpdate, type Snapshot } from "../src/index.ts";
import { serve, type Served } from "./served.ts";
import { recordStream } from "./stream-record.ts";

let served: Served;
let before: Snapshot;
let after: Snapshot;
let bytes: Uint8Array;

beforeAll(async () => {
  served = await serve();
  ({ before, after, bytes } = await recordStream(served));
});
afterAll(() => served.stop());

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

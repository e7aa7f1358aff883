// A stream recorded from the service from the start of a session. Every split gives the same frames, and
// folding them over the first snapshot gives the last one.

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

it("gives the same frames for every split", () => {
  const whole = parse(bytes);
  expect(whole.length).toBeGreaterThan(8);
  for (let at = 0; at <= bytes.length; at += 1) {
    const frames = parse(bytes.subarray(0, at), bytes.subarray(at));
    if (JSON.stringify(frames) !== JSON.stringify(whole)) expect([at, frames]).toEqual([at, whole]);
  }
});

it("folds the first snapshot into the last one", () => {
  const folded = parse(bytes).reduce((now, { id, data }) => {
    if (data === null) return now;
    return fold(now, JSON.parse(data) as SessionUpdate, id)!.snapshot;
  }, before);
  expect(folded).toEqual(after);
});

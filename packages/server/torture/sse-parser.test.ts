import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createSseParser, type StreamedEvent } from "./sse-parser.ts";

function parse(pieces: readonly string[]): StreamedEvent[] {
  const events: StreamedEvent[] = [];
  const feed = createSseParser((event) => events.push(event));
  for (const piece of pieces) feed(piece);
  return events;
}

const STREAM =
  'retry: 2000\n\n: heartbeat\n\nid: a-1\ndata: {"x":1}\n\nid: a-2\n\ndata: one\r\ndata: two\r\n\r\n';

describe("createSseParser", () => {
  it("returns events, bare ids and joined data, and ignores comments and retry", () => {
    expect(parse([STREAM])).toEqual([
      { id: "a-1", data: '{"x":1}', name: null },
      { id: "a-2", data: null, name: null },
      { id: null, data: "one\ntwo", name: null },
    ]);
  });

  it("returns the same for every split", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: STREAM.length })), (cuts) => {
        const bounds = [0, ...cuts.toSorted((a, b) => a - b), STREAM.length];
        const pieces = bounds.slice(1).map((end, index) => STREAM.slice(bounds[index], end));
        expect(parse(pieces)).toEqual(parse([STREAM]));
      }),
    );
  });

  it("returns no unfinished event", () => {
    expect(parse(["id: a-1\ndata: x\n"])).toEqual([]);
  });

  it("returns event names, which the service never sends", () => {
    expect(parse(["event: x\ndata: y\n\n"])).toEqual([{ id: null, data: "y", name: "x" }]);
  });
});

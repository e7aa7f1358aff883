import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createEventStreamParser, type Frame } from "./event-stream-parser.ts";

function parse(...pieces: readonly Uint8Array[]): Frame[] {
  const frames: Frame[] = [];
  const take = createEventStreamParser((frame) => frames.push(frame));
  for (const piece of pieces) take(piece);
  return frames;
}

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

/** A recorded stream of the service, plus frames that only other servers send. */
const RECORDED = [
  "\uFEFFretry: 2000\n\n",
  'id: k3f9-1\ndata: {"type":"title_changed","new_title":"Größe 🫖 漢字"}\n\n',
  ": heartbeat\n\n",
  "id: k3f9-7\n\n",
  'data: {"type":"message_delta","text":"𝄞\\n"}\n\n',
  "event: other\ndata: one\ndata:  two\ndata\n\n",
  "id:k3f9-8\nunknown: field\ndata:three\n\n",
  "id: cut off\ndata: never ended",
].join("");

const FRAMES: Frame[] = [
  { id: null, data: null, retry: 2000 },
  { id: "k3f9-1", data: '{"type":"title_changed","new_title":"Größe 🫖 漢字"}', retry: null },
  { id: "k3f9-7", data: null, retry: null },
  { id: null, data: '{"type":"message_delta","text":"𝄞\\n"}', retry: null },
  { id: null, data: "one\n two\n", retry: null },
  { id: "k3f9-8", data: "three", retry: null },
];

describe.each([
  ["line feeds", "\n"],
  ["carriage returns and line feeds", "\r\n"],
  ["carriage returns", "\r"],
])("createEventStreamParser, on a stream with %s", (_name, end) => {
  const bytes = bytesOf(RECORDED.replaceAll("\n", end));

  it("returns the frames of the whole text", () => {
    expect(parse(bytes)).toEqual(FRAMES);
  });

  it("gives the same frames for every split in two", () => {
    for (let at = 0; at <= bytes.length; at += 1) {
      expect(parse(bytes.subarray(0, at), bytes.subarray(at))).toEqual(FRAMES);
    }
  });

  it("gives the same frames byte by byte", () => {
    expect(parse(...Array.from(bytes, (byte) => Uint8Array.of(byte)))).toEqual(FRAMES);
  });

  it("gives the same frames for any chunks", () => {
    const cuts = fc.array(fc.nat({ max: bytes.length }), { maxLength: 30 });
    fc.assert(
      fc.property(cuts, (places) => {
        const edges = [0, ...places.toSorted((one, other) => one - other), bytes.length];
        const pieces = edges.slice(1).map((edge, index) => bytes.subarray(edges[index], edge));
        expect(parse(...pieces)).toEqual(FRAMES);
      }),
    );
  });
});

it("emits a frame at its blank line, without waiting for what follows a carriage return", () => {
  expect(parse(bytesOf("data: x\r\n\r"))).toEqual([{ id: null, data: "x", retry: null }]);
});

it("ignores an id with NUL and a retry that is not a number", () => {
  expect(parse(bytesOf("id: a\0b\nretry: soon\n\n"))).toEqual([]);
});

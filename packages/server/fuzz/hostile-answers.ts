// Generates hostile provider responses by mutating quirks: cuts, swaps and repeats pieces, replaces JSON values, and
// varies the end of the connection.

import { gzipSync } from "node:zlib";
import type { Quirk } from "../test/quirks/quirks.ts";
import type { Random } from "../torture/harness/random.ts";

const VALUES: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  1e308,
  "",
  " ",
  "\0",
  "\ud800",
  "</think>",
  "<think>",
  "[DONE]",
  "a".repeat(5_000),
  [],
  [[]],
  [null],
  {},
  { error: "x" },
  { __proto__: null, constructor: 1 },
  { type: "text", text: "x" },
];

const FRAGMENTS: readonly string[] = [
  "data: [DONE]\n\n",
  "data: \n\n",
  "data: null\n\n",
  "data: {\n\n",
  ": comment\n\n",
  "event: error\ndata: {}\n\n",
  "event: ping\ndata: x\n\n",
  'data: {"error":{"message":"Overloaded","type":"overloaded_error"}}\n\n',
  'data: {"choices":[{"finish_reason":"stop"}]}\n\n',
  'data: {"choices":[{"delta":{"content":"x"}}]}\n\n',
  'data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"calculator","arguments":"{"}}]}}]}\n\n',
  "\r",
  "\n\n\n",
  "\u{feff}",
  "<html>",
  "{}",
  "retry: 0\n\n",
];

const TYPES: readonly string[] = [
  "text/event-stream",
  "text/event-stream; charset=utf-16",
  "application/json",
  "text/html",
  "application/octet-stream",
];

/** Returns a random mutation of one of the quirks. */
export function hostileAnswer(quirks: readonly Quirk[], random: Random): Quirk {
  const quirk = random.pick(quirks);
  let pieces: (string | Buffer)[] = quirk.pieces.map((piece) => piece.slice(0, 20_000));
  for (let left = random.integer(1, 3); left > 0; left -= 1) pieces = mutate(pieces, quirks, random);
  const isPacked = random.chance(0.05);
  if (isPacked) {
    const packed = gzipSync(Buffer.concat(pieces.map((piece) => Buffer.from(piece))));
    pieces = [random.chance(0.5) ? packed : packed.subarray(0, random.integer(0, packed.length))];
  }
  return {
    name: quirk.name,
    pieces,
    after: random.chance(0.8) ? "end" : random.chance(0.1) ? "hold" : "reset",
    status: random.chance(0.95) ? 200 : random.pick([201, 204, 299, 400, 418, 422, 429, 500, 529]),
    headers: {
      "content-type": random.chance(0.8) ? "text/event-stream" : random.pick(TYPES),
      ...(isPacked && { "content-encoding": "gzip" }),
    },
    expected: {},
  };
}

function mutate(
  pieces: readonly (string | Buffer)[],
  quirks: readonly Quirk[],
  random: Random,
): (string | Buffer)[] {
  const at = random.integer(0, Math.max(0, pieces.length - 1));
  const piece = pieces[at] ?? "";
  switch (random.integer(0, 7)) {
    case 0:
      return pieces.toSpliced(at, 1);
    case 1:
      return pieces.toSpliced(at, 0, random.pick(FRAGMENTS));
    case 2: {
      const bytes = Buffer.from(piece);
      const cut = random.integer(0, bytes.length);
      return pieces.toSpliced(at, 1, bytes.subarray(0, cut), bytes.subarray(cut));
    }
    case 3:
      return pieces.toSpliced(at, 1, Buffer.from(piece).subarray(0, random.integer(0, piece.length)));
    case 4:
      return pieces.toSpliced(at, 0, ...Array.from({ length: random.integer(1, 30) }, () => piece));
    case 5: {
      const other = random.pick(random.pick(quirks).pieces);
      return pieces.toSpliced(at, 0, other.slice(0, 20_000));
    }
    case 6: {
      const bytes = Buffer.from(piece);
      if (bytes.length > 0) bytes[random.integer(0, bytes.length - 1)] = random.integer(0, 255);
      return pieces.toSpliced(at, 1, bytes);
    }
    default:
      return pieces.toSpliced(at, 1, withOtherValue(String(piece), random));
  }
}

/** Replaces a random value in the JSON of a piece. */
function withOtherValue(piece: string, random: Random): string {
  return piece.replace(/\{.*\}/, (json) => {
    try {
      const places: [holder: Record<string, unknown>, key: string][] = [];
      const visit = (value: unknown): void => {
        if (typeof value !== "object" || value === null) return;
        for (const key of Object.keys(value)) {
          places.push([value as Record<string, unknown>, key]);
          visit((value as Record<string, unknown>)[key]);
        }
      };
      const root = JSON.parse(json) as unknown;
      visit(root);
      if (places.length === 0) return json;
      const [holder, key] = random.pick(places);
      if (random.chance(0.2)) delete holder[key];
      else holder[key] = random.chance(0.05) ? deep(random.integer(50, 3_000)) : random.pick(VALUES);
      return JSON.stringify(root);
    } catch {
      return json;
    }
  });
}

function deep(levels: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level += 1) value = [value];
  return value;
}

// Hostile streams that try to exhaust the CPU. quirks.test.ts covers regular ones.

import { afterEach, describe, expect, it, vi } from "vitest";
import type { JsonObject } from "../core/json.ts";
import { ChatChunks } from "./chat-chunks.ts";

afterEach(() => vi.restoreAllMocks());

function withCalls(...calls: readonly JsonObject[]): JsonObject {
  return { choices: [{ index: 0, delta: { tool_calls: [...calls] } }] };
}

function callsIn(chunk: JsonObject | null): readonly unknown[] {
  const [choice] = (chunk?.["choices"] ?? []) as { readonly delta: { readonly tool_calls?: unknown[] } }[];
  return choice?.delta.tool_calls ?? [];
}

describe("calls of a hostile stream", () => {
  it.each([
    ["one chunk", 3_000],
    ["many chunks", 1],
  ])("are limited to 1,024 in %s", (_how, perChunk) => {
    const chunks = new ChatChunks();
    const sent = Array.from({ length: 3_000 }, (_, index) => ({
      index,
      id: `c${index}`,
      function: { name: "f", arguments: "{}" },
    }));
    let received = 0;
    for (let at = 0; at < sent.length; at += perChunk)
      received += callsIn(chunks.normalize(withCalls(...sent.slice(at, at + perChunk)))).length;
    expect(received).toBe(1_024);
    const more = { index: 5, function: { arguments: " " } };
    expect(callsIn(chunks.normalize(withCalls(more)))).toHaveLength(1);
  });

  it("are parsed in linear time if each delta repeats the name", () => {
    const chunks = new ChatChunks();
    const parse = vi.spyOn(JSON, "parse");
    const piece = (text: string) => ({ index: 0, id: "c", function: { name: "f", arguments: text } });
    const pieces = [`{"text":"${"x".repeat(10_000)}`, ...Array<string>(100).fill('{\\"'), '"}'];
    const received = pieces.flatMap((text) => callsIn(chunks.normalize(withCalls(piece(text)))));
    expect(received).toHaveLength(pieces.length);
    expect(new Set(received.map((one) => (one as { readonly index: number }).index))).toEqual(new Set([0]));
    const parsed = parse.mock.calls.reduce((sum, [text]) => sum + text.length, 0);
    expect(parsed).toBeLessThan(2 * pieces.join("").length);
    // The call is complete, so the same name starts a new one.
    expect(callsIn(chunks.normalize(withCalls(piece('{"b":'))))).toMatchObject([{ index: 1 }]);
  });
});

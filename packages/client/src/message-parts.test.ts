import { describe, expect, it } from "vitest";
import { messageParts } from "./message-parts.ts";
import type { ToolCall } from "./wire.ts";

const call = (id: string, offset?: number): ToolCall => ({
  id,
  name: "walk",
  arguments: {},
  status: "complete",
  ...(offset !== undefined && { text_offset: offset }),
});
const CONTENT = "Let me see.\n\nAnd this.\n\nDone.";

/** Returns texts as they are, and calls by their id. */
function parts(content: string, ...calls: ToolCall[]): string[] {
  const found = messageParts({ content, tool_calls: calls });
  return found.map((part) => (part.kind === "text" ? part.text : `<${part.call.id}>`));
}

describe("messageParts", () => {
  it("puts each call at its text offset, and returns all of the text", () => {
    const found = parts(CONTENT, call("a", 11), call("b", 11), call("c", 22));
    expect(found).toEqual(["Let me see.", "<a>", "<b>", "\n\nAnd this.", "<c>", "\n\nDone."]);
  });

  it("starts and ends with calls if no text surrounds them", () => {
    expect(parts("Hi", call("a", 0), call("b", 2))).toEqual(["<a>", "Hi", "<b>"]);
    expect(parts("", call("a", 0))).toEqual(["<a>"]);
  });

  it("puts a call without an offset before the remaining text", () => {
    expect(parts(CONTENT, call("a"), call("b", 11), call("c"))).toEqual([
      "<a>",
      "Let me see.",
      "<b>",
      "<c>",
      "\n\nAnd this.\n\nDone.",
    ]);
  });

  it("repeats no text for invalid offsets, and accepts messages without calls", () => {
    expect(parts("One two", call("a", 99), call("b", 3))).toEqual(["One two", "<a>", "<b>"]);
    expect(messageParts({ content: "One" })).toEqual([{ kind: "text", text: "One" }]);
    expect(messageParts({ content: "" })).toEqual([]);
  });
});

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

/** Texts as they are, calls by their id. */
function parts(content: string, ...calls: ToolCall[]): string[] {
  const found = messageParts({ content, tool_calls: calls });
  return found.map((part) => (part.kind === "text" ? part.text : `<${part.call.id}>`));
}

describe("a message in the order in which it came about", () => {
  it("has each call where the text stood when it was made, and all of the text", () => {
    const found = parts(CONTENT, call("a", 11), call("b", 11), call("c", 22));
    expect(found).toEqual(["Let me see.", "<a>", "<b>", "\n\nAnd this.", "<c>", "\n\nDone."]);
  });

  it("begins and ends with calls where nothing was said before or after them", () => {
    expect(parts("Hi", call("a", 0), call("b", 2))).toEqual(["<a>", "Hi", "<b>"]);
    expect(parts("", call("a", 0))).toEqual(["<a>"]);
  });

  it("has a call of which it is not known before the text that is left", () => {
    expect(parts(CONTENT, call("a"), call("b", 11), call("c"))).toEqual([
      "<a>",
      "Let me see.",
      "<b>",
      "<c>",
      "\n\nAnd this.\n\nDone.",
    ]);
  });

  it("says nothing twice where places are wrong, and needs no calls", () => {
    expect(parts("One two", call("a", 99), call("b", 3))).toEqual(["One two", "<a>", "<b>"]);
    expect(messageParts({ content: "One" })).toEqual([{ kind: "text", text: "One" }]);
    expect(messageParts({ content: "" })).toEqual([]);
  });
});

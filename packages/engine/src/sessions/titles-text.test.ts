import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isCleanText } from "../core/json.ts";
import { cleanTitle, plainTitle } from "./titles.ts";

const FAMILY = "👨‍👩‍👧‍👦";

describe("a plain title", () => {
  it("is the first visible line, with single spaces", () => {
    expect(plainTitle("  How do I\tbridge  USDC?\nMore.")).toBe("How do I bridge USDC?");
    expect(plainTitle("\u0001\u0002\n \r\nHello")).toBe("Hello");
  });

  it.each([
    ["## Title\n\nMore", "Title"],
    ["> **Which** [guide](https://a.example) says `npm ci`?", "Which guide says npm ci?"],
    ["What do __init__, 2*3*4 and C# mean?", "What do __init__, 2*3*4 and C# mean?"],
    ["2. of June", "2. of June"],
    ["[](x)", "[](x)"],
  ])("of %j is plain text: %j", (message, title) => expect(plainTitle(message)).toBe(title));

  it("is the placeholder if no line is visible", () => {
    expect(plainTitle("\u0001\n\u0002")).toBe("New Chat");
  });

  it("is kept up to 60 characters, and otherwise cut at a word", () => {
    expect(plainTitle("x".repeat(60))).toBe("x".repeat(60));
    const words = "word ".repeat(20).trim();
    expect(plainTitle(words)).toBe(`${"word ".repeat(12).trim()}…`);
    expect(plainTitle(`${"x".repeat(60)} more`)).toBe(`${"x".repeat(60)}…`);
    expect(plainTitle(`short ${"x".repeat(100)}`)).toBe(`short ${"x".repeat(54)}…`);
  });

  it("is never cut within a grapheme cluster", () => {
    expect(plainTitle(`a${"👍".repeat(60)}`)).toBe(`a${"👍".repeat(29)}…`);
    expect(plainTitle(`${"x".repeat(55)}${FAMILY}`)).toBe(`${"x".repeat(55)}…`);
    expect(plainTitle("e\u0301".repeat(40))).toBe(`${"e\u0301".repeat(30)}…`);
  });

  it("keeps whole code points of a single long cluster", () => {
    expect(plainTitle(`a${"\u{e0100}".repeat(60)}`)).toSatisfy(isCleanText);
  });

  it("is clean, short, one line and never empty for any message", () => {
    const piece = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.constantFrom("👍", FAMILY, " ", "\n", "word", "漢字"),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
        const title = plainTitle(pieces.join("").replaceAll("\0", "").toWellFormed());
        expect(isCleanText(title)).toBe(true);
        expect(title.length).toBeGreaterThan(0);
        expect(title.length).toBeLessThanOrEqual(61);
        expect(title).not.toMatch(/[\r\n\p{Cc}]/u);
      }),
    );
  });
});

describe("a generated title", () => {
  it.each([
    ['"Bridging USDC"', "Bridging USDC"],
    ["**Bridging USDC.**\nBecause…", "Bridging USDC"],
    ["\n\n# Bridging\tUSDC…", "Bridging USDC…"],
    ["«Brücken bauen»", "Brücken bauen"],
    ["Brid\0ging \ud83d", "Bridging \ufffd"],
    ["<think>The user asks\nabout USDC.</think>\n\nBridging USDC", "Bridging USDC"],
    ["The user asks about USDC.\n</think>\n\nBridging USDC", "Bridging USDC"],
    [`<think>${"Hm. ".repeat(2_000)}</think>Bridging USDC`, "Bridging USDC"],
    ["```\nBridging USDC\n```", "Bridging USDC"],
    ['```json\n{"title": "Bridging USDC"}\n```', "Bridging USDC"],
    ['{ "emoji": "🌉", "title": "Bridging \\"USDC\\"" }', 'Bridging "USDC'],
    ['{"title":"Bridging USDC","tags":["a', "Bridging USDC"],
    ["Title: **Bridging** USDC", "Bridging USDC"],
    ["**Title:** Bridging `USDC`", "Bridging USDC"],
    ["1. [Bridging](https://example.com) USDC", "Bridging USDC"],
    ["C# and snake_case", "C# and snake_case"],
    ["‘Bridging USDC’", "Bridging USDC"],
  ])("%j is %j", (answer, title) => expect(cleanTitle(answer)).toBe(title));

  it("is null if no text is left", () => {
    const answers = [
      "",
      "  \n ",
      '""',
      "...",
      "\u0001",
      "<think>Hm.",
      "<think>Hm.</think>",
      '{"name":1}',
      "```\n```",
    ];
    for (const answer of answers) expect([answer, cleanTitle(answer)]).toEqual([answer, null]);
  });

  it("is kept up to 79 characters, and otherwise cut at a word", () => {
    expect(cleanTitle("x".repeat(79))).toBe("x".repeat(79));
    expect(cleanTitle("word ".repeat(20))).toBe(`${"word ".repeat(15).trim()} word…`);
    expect(cleanTitle("x".repeat(200))).toHaveLength(80);
  });
});

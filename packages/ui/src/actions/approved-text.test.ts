import { describe, expect, it } from "vitest";
import { approvedText, isolatedTexts, visibleText } from "./approved-text.ts";

describe("approvedText", () => {
  it("is indented JSON with every character visible", () => {
    expect(approvedText({ to: "a\u202Eb" })).toBe('{\n  "to": "a\\u202eb"\n}');
    expect(visibleText('0x12\u200B"')).toBe('0x12\\u200b\\"');
  });

  it("is complete but not indented if indentation would dominate the text", () => {
    let deep: unknown = Array.from({ length: 10_000 }, () => 0);
    for (let level = 0; level < 60; level += 1) deep = [deep];
    expect(approvedText(deep)).toBe(JSON.stringify(deep));
  });

  it("isolates right-to-left strings and keeps the whole text", () => {
    const json = approvedText({ אב: 'ג"ד', amount: 5 });
    const parts = isolatedTexts(json);
    expect(parts.join("")).toBe(json);
    expect(parts.filter((_part, index) => index % 2 === 1)).toEqual(['"אב"', '"ג\\"ד"', '"amount"']);
    expect(isolatedTexts('{"a": "b"}')).toEqual(['{"a": "b"}']);
  });
});

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { cleanText, isCleanText, isDeeperThan, isJsonObject } from "./json.ts";

describe("JSON", () => {
  it("recognizes JSON objects", () => {
    expect([{}, { a: 1 }].every(isJsonObject)).toBe(true);
    expect([null, [], "a", 1, true, undefined].some(isJsonObject)).toBe(false);
  });

  it("has a depth: 0 for a plain value, or that of its deepest branch", () => {
    for (const plain of [null, "a", 1]) expect(isDeeperThan(0, plain)).toBe(false);
    for (const one of [{}, [], [1], { a: 1 }]) {
      expect([isDeeperThan(0, one), isDeeperThan(1, one)]).toEqual([true, false]);
    }
    const four = { a: 1, b: [{ c: [] }], d: {} };
    expect([isDeeperThan(3, four), isDeeperThan(4, four)]).toEqual([true, false]);
  });
});

describe("clean text", () => {
  it("has no NUL and no lone surrogate", () => {
    expect(isCleanText("Grüße 👍\n\t")).toBe(true);
    for (const text of ["a\0", "\ud83d", "\udc4d", "x\udc4d\ud83dx"]) expect(isCleanText(text)).toBe(false);
  });

  it("drops NUL and replaces lone surrogates", () => {
    expect(cleanText("a\0b\ud83dc👍")).toBe("ab\ufffdc👍");
  });

  it("survives UTF-8, and is unchanged if it was clean", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "binary" }),
        fc.constantFrom("", "\0", "\ud800", "\udfff"),
        (text, bad) => {
          const clean = cleanText(text + bad + text);
          expect(isCleanText(clean)).toBe(true);
          expect(Buffer.from(clean).toString()).toBe(clean);
          if (isCleanText(text)) expect(cleanText(text)).toBe(text);
        },
      ),
    );
  });
});

import { describe, expect, it } from "vitest";
import { isJsonObject, jsonDepth } from "./json.ts";

describe("JSON", () => {
  it("knows its objects from all else", () => {
    expect([{}, { a: 1 }].every(isJsonObject)).toBe(true);
    expect([null, [], "a", 1, true, undefined].some(isJsonObject)).toBe(false);
  });

  it("has a depth: nothing for a plain value, the deepest branch for others", () => {
    expect([null, "a", 1].map(jsonDepth)).toEqual([0, 0, 0]);
    expect([{}, [], [1], { a: 1 }].map(jsonDepth)).toEqual([1, 1, 1, 1]);
    expect(jsonDepth({ a: 1, b: [{ c: [] }], d: {} })).toBe(4);
  });
});

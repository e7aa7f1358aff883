import { expect, test } from "vitest";
import { partOf } from "./parts.ts";

test("partOf puts every item into exactly one of adjacent parts, in order", () => {
  const items = Array.from({ length: 97 }, (_empty, index) => index);
  const parts = Array.from({ length: 13 }, (_empty, part) => partOf(items, part / 13, (part + 1) / 13));
  expect(parts.flat()).toEqual(items);
});

test("partOf may return an empty part", () => {
  expect(partOf(["a"], 0, 0.25)).toEqual([]);
});

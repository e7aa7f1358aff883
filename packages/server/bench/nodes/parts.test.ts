import { expect, test } from "vitest";
import { partOf } from "./parts.ts";

test("every item is in one of the parts that a list is cut into, in its place", () => {
  const items = Array.from({ length: 97 }, (_empty, index) => index);
  const parts = Array.from({ length: 13 }, (_empty, part) => partOf(items, part / 13, (part + 1) / 13));
  expect(parts.flat()).toEqual(items);
});

test("a part may be empty", () => {
  expect(partOf(["a"], 0, 0.25)).toEqual([]);
});

import { expect, test } from "vitest";
import { partsOf } from "./parts.ts";

test("every item is in one part, in its place, and parts differ by one at most", () => {
  expect(partsOf([1, 2, 3, 4, 5, 6, 7], 3)).toEqual([
    [1, 2],
    [3, 4],
    [5, 6, 7],
  ]);
});

test("parts may be empty", () => {
  expect(partsOf(["a"], 2)).toEqual([[], ["a"]]);
});

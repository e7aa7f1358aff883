import { expect, test } from "vitest";
import { formatHistogram } from "./histogram.ts";

test("each step says how many values fall into it, an empty one between others too", () => {
  expect(formatHistogram([9999, 7000, 7999.9, 7500, 10_000], 1000, "s")).toBe(
    "7-8 s: 3, 8-9 s: 0, 9-10 s: 1, 10-11 s: 1",
  );
});

test("no values are no steps", () => {
  expect(formatHistogram([], 1000, "s")).toBe("");
});

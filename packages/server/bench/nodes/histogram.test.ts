import { expect, test } from "vitest";
import { formatHistogram } from "./histogram.ts";

test("formatHistogram counts the values of each step, including empty ones between others", () => {
  expect(formatHistogram([9999, 7000, 7999.9, 7500, 10_000], 1000, "s")).toBe(
    "7-8 s: 3, 8-9 s: 0, 9-10 s: 1, 10-11 s: 1",
  );
});

test("formatHistogram is empty without values", () => {
  expect(formatHistogram([], 1000, "s")).toBe("");
});

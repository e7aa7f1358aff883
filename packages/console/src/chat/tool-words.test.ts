import { expect, it } from "vitest";
import { durationText, progressText } from "./tool-words.ts";

it.each([
  [0.4, "0 ms"],
  [999, "999 ms"],
  [1_000, "1.0 s"],
  [59_940, "59.9 s"],
  [60_000, "1 min 0 s"],
  [3_599_900, "60 min 0 s"],
])("%d ms are %s", (ms, text) => {
  expect(durationText(ms)).toBe(text);
});

it.each<[unknown, string]>([
  ["reading page 3", "reading page 3"],
  [{ message: "reading", progress: 3, total: 10 }, "reading · 3 of 10"],
  [{ progress: 3 }, "3"],
  [{ message: "reading" }, "reading"],
  [{ step: 1 }, '{"step":1}'],
  [[1, 2], "[1,2]"],
  [5, "5"],
  [{ message: 5, progress: "x" }, '{"message":5,"progress":"x"}'],
])("%j is told as %s", (progress, text) => {
  expect(progressText(progress)).toBe(text);
});

import { expect, it } from "vitest";
import { durationText, lookOf, progressText } from "./tool-words.ts";

it.each([
  [0.4, "less than 1 ms"],
  [0.5, "1 ms"],
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

it.each([
  ["failed", "The user denied this call.", "denied"],
  ["failed", "The user did not answer in time, so this call was not made.", "unanswered"],
  ["failed", "The user denied this call. And more", "failed"],
  ["complete", "The user denied this call.", "complete"],
] as const)("a call that is %s with %j looks %s", (status, result, look) => {
  expect(lookOf(status, false, result)).toBe(look);
  expect(lookOf(status, true, result)).toBe("asking");
});

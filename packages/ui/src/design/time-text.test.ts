import { expect, it } from "vitest";
import { timeText } from "./time-text.ts";

const NOW = new Date(2026, 10, 21, 22, 0);

it.each([
  [new Date(2026, 10, 21, 22, 59), "10:59 PM"],
  [new Date(2026, 10, 23, 22, 59), "Nov 23, 10:59 PM"],
  [new Date(2027, 0, 2, 9, 5), "Jan 2, 2027, 09:05 AM"],
])("timeText shows %s with its date unless it is today", (until, words) => {
  expect(timeText(until, NOW, "en-US").replace("\u202f", " ")).toBe(words);
});

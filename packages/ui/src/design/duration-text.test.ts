import { expect, it } from "vitest";
import { durationText } from "./duration-text.ts";

it.each([
  [0, "0 ms"],
  [0.04, "0 ms"],
  [0.44, "0.4 ms"],
  [820.4, "820 ms"],
  [1_240, "1.2 s"],
  [59_400, "59 s"],
  [59_700, "1 min"],
  [185_000, "3 min 5 s"],
  [7_800_000, "2 h 10 min"],
  [86_400_000 * 4 + 3_600_000 * 3, "4 d 3 h"],
  [-12, "−12 ms"],
])("durationText(%d) is %s", (ms, text) => {
  expect(durationText(ms)).toBe(text);
});

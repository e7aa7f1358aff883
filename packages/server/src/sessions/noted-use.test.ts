import { expect, it } from "vitest";
import { isNoted, momentOf, USE_NOTED_MS } from "./noted-use.ts";

const at = (wall: number, monotonic: number) => ({ now: () => wall, monotonic: () => monotonic });
const noted = momentOf(at(1_000_000, 500));

it("use is noted again after five minutes, by whichever clock", () => {
  expect(isNoted(noted, at(1_000_000 + USE_NOTED_MS - 1, 500 + USE_NOTED_MS - 1))).toBe(true);
  // The wall clock was set back.
  expect(isNoted(noted, at(0, 500 + USE_NOTED_MS))).toBe(false);
  // The machine was suspended.
  expect(isNoted(noted, at(1_000_000 + USE_NOTED_MS, 501))).toBe(false);
});

it("use of which nobody knows that it was noted is noted", () => {
  expect(isNoted(null, at(0, 0))).toBe(false);
});

import { expect, it } from "vitest";
import { isTooMany, hiddenAfterMore, hiddenInitially } from "./newest-messages.ts";

it("shows the newest 50, or all if there are fewer", () => {
  expect([0, 1, 50, 51, 500].map(hiddenInitially)).toEqual([0, 0, 0, 1, 450]);
});

it("shows 50 more each time, finally the rest", () => {
  expect([450, 51, 50, 7, 0].map(hiddenAfterMore)).toEqual([400, 1, 0, 0, 0]);
});

it("reaches the limit after several requests, not after one", () => {
  expect([50, 100, 101].map(isTooMany)).toEqual([false, false, true]);
});

import { expect, it } from "vitest";
import { isTooMany, leftOutAfterMore, leftOutAtNewest } from "./newest-messages.ts";

it("the newest 50 are shown, all of them where there are no more", () => {
  expect([0, 1, 50, 51, 500].map(leftOutAtNewest)).toEqual([0, 0, 0, 1, 450]);
});

it("50 more come each time, the last time what is left", () => {
  expect([450, 51, 50, 7, 0].map(leftOutAfterMore)).toEqual([400, 1, 0, 0, 0]);
});

it("what was asked for once is not too many, and whatever grows is in the end", () => {
  expect([50, 100, 101].map(isTooMany)).toEqual([false, false, true]);
});

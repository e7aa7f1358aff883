import { describe, expect, it } from "vitest";
import { preferredWait } from "./prefer.ts";

describe("Prefer: wait", () => {
  it.each([
    [null, 0],
    ["", 0],
    ["wait=10", 10_000],
    ["Wait=10", 10_000],
    ['wait="10"', 10_000],
    ["wait = 10", 10_000],
    ["respond-async, wait=5", 5000],
    ["respond-async,wait=5;x=y, handling=lenient", 5000],
    ["wait=60", 60_000],
    ["wait=61", 60_000],
    ["wait=99999999999999999999999999", 60_000],
    ["wait=0", 0],
    ["wait=3, wait=9", 3000],
    ["wait=x, wait=9", 0],
    ["wait", 0],
    ["wait=", 0],
    ["wait=-1", 0],
    ["wait=1.5", 0],
    ["waiter=5", 0],
    ['foo="a, wait=5"', 0],
  ])("%j waits %d ms", (header, milliseconds) => {
    expect(preferredWait(header)).toBe(milliseconds);
  });
});

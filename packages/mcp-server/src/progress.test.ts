import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Progress } from "./progress.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function startProgress() {
  const sent: [progress: number, message: string][] = [];
  const progress = new Progress((count, message) => {
    sent.push([count, message]);
    return Promise.resolve();
  });
  progress.begin("started");
  return { progress, sent };
}

it("sends the end of the text at most twice a second, with an increasing count", () => {
  const { progress, sent } = startProgress();
  for (const text of ["a", "ab", "abc"]) progress.text = text;
  vi.advanceTimersByTime(500);
  progress.text = `${"x".repeat(500)}end`;
  vi.advanceTimersByTime(500);
  expect(sent).toEqual([
    [1, "started"],
    [2, "abc"],
    [3, `${"x".repeat(197)}end`],
  ]);
});

it("repeats the text after ten seconds without new text, so that clients do not time out", () => {
  const { sent } = startProgress();
  vi.advanceTimersByTime(9500);
  expect(sent).toHaveLength(1);
  vi.advanceTimersByTime(500);
  expect(sent).toHaveLength(2);
});

it("sends nothing after `end`, and ignores a disconnected client", async () => {
  const progress = new Progress(() => Promise.reject(new Error("gone")));
  progress.begin("started");
  await vi.advanceTimersByTimeAsync(20_000);
  progress.end();
  expect(vi.getTimerCount()).toBe(0);
});

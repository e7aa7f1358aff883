import { expect, it } from "vitest";
import { DEFAULT_RATE_LIMITS } from "../core/rate-limits.ts";
import { Budgets, rateLimitFields } from "./budgets.ts";

it("never reports more seconds than the window has, whatever the clock's fraction", () => {
  const start = 123_456.7;
  // A window that has just begun.
  const endsInMs = start + 60_000 - start;
  expect(endsInMs).toBeGreaterThan(60_000);
  const { ratelimit } = rateLimitFields([{ name: "chats", limit: 60, left: 59, endsInMs }]);
  expect(ratelimit).toBe('"chats";r=59;t=60');
});

it("counts in a single process without a promise", () => {
  const budgets = new Budgets({ limits: DEFAULT_RATE_LIMITS, now: () => 0, counters: null });
  expect(budgets.spend("chats", "k", [])).toBeUndefined();
  expect(budgets.spendBytes("written-bytes", "k", [], 1_000_000)).toBeUndefined();
});

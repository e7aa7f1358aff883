import { expect, it } from "vitest";
import { DEFAULT_RATE_LIMITS } from "@colloquy/engine/internal/core/rate-limits";
import { Budgets, type CountBudget, rateLimitFields } from "./budgets.ts";
import { GatedCounters } from "./testing/gated-counters.ts";

/** True for budgets that all nodes count together. */
const IS_SHARED: Readonly<Record<CountBudget, boolean>> = {
  reads: false,
  "session-reads": false,
  bodies: false,
  writes: true,
  "session-writes": true,
  chats: true,
  "key-chats": true,
  repeats: true,
  secrets: true,
  "key-secrets": true,
  "new-sessions": true,
  "key-new-sessions": true,
  "admin-keys": true,
};

it.each(Object.keys(IS_SHARED) as CountBudget[])(
  "counts %s on all nodes, unless they are requests",
  async (name) => {
    const counters = new GatedCounters();
    await new Budgets({ limits: DEFAULT_RATE_LIMITS, now: () => 0, counters }).spend(name, "k", []);
    expect(counters.asked).toEqual(IS_SHARED[name] ? [`take ${name} k`] : []);
  },
);

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

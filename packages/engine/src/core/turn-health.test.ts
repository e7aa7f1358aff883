import { describe, expect, it } from "vitest";
import type { SeenSession, SeenTurn } from "./ports/driven/admin-store.ts";
import { NO_USAGE, type TurnRecord } from "./turn.ts";
import { sessionStatus, whyStuck } from "./turn-health.ts";

const NOW = 10_000_000;
const limits = { turnMs: 600_000 };

function seen(turn: Partial<TurnRecord>, more: Partial<SeenTurn> = {}): SeenTurn {
  const record: TurnRecord = {
    number: 1,
    state: "running",
    userPosition: 1,
    agentPosition: 2,
    attempts: 1,
    steps: 0,
    ranMs: 0,
    model: "demo/assistant",
    startedAt: NOW - 1000,
    attemptAt: NOW - 1000,
    epoch: 1,
    runnable: false,
    behindWaiting: false,
    clientId: null,
    options: {},
    usage: NO_USAGE,
    failure: null,
    enqueuedAt: NOW - 1000,
    endedAt: null,
    ...turn,
  };
  const lease = { owner: "a", takenAt: NOW - 1000, expiresAt: NOW + 9000 };
  return { turn: record, lease, decideBy: null, finishReason: null, ...more };
}

const why = (turn: SeenTurn, changedAt = NOW - 1000): string | null => whyStuck(turn, changedAt, NOW, limits);

describe("a stuck turn", () => {
  it.each([
    [
      "whose lease expired six seconds ago",
      { lease: { owner: "a", takenAt: 0, expiresAt: NOW - 5001 } },
      /lease.*run out/,
    ],
    ["without a lease", { lease: null }, /no process has its lease/],
  ])("is running, %s", (_name, more, said) => {
    expect(why(seen({}, more))).toMatch(said);
  });

  it("has run for over a minute longer than its time limit, over all attempts", () => {
    expect(why(seen({ ranMs: 659_500, attemptAt: NOW - 501 }))).toMatch(/limits\.turnMs/);
    expect(why(seen({ ranMs: 659_500, attemptAt: NOW - 500 }))).toBeNull();
  });

  it("is runnable, and unclaimed for longer than its time limit", () => {
    const old = { enqueuedAt: NOW - 660_001, runnable: true };
    expect(why(seen({ ...old, state: "queued" }), NOW - 660_001)).toMatch(/no process has taken it/);
    expect(why(seen(old, { lease: null }), NOW - 660_001)).toMatch(/no process has taken it/);
    expect(why(seen({ ...old, state: "queued" }), NOW - 660_000)).toBeNull();
    // The turn resumed just now, after the person's decision.
    expect(why(seen(old, { lease: null }), NOW - 5)).toBeNull();
  });

  it("is the first in the queue and not runnable", () => {
    expect(why(seen({ state: "queued" }, { lease: null }))).toMatch(/first in line/);
  });

  it("waits for a person without a pending action, or over a minute past its action's expiry", () => {
    const waiting = (decideBy: number | null) => seen({ state: "waiting" }, { lease: null, decideBy });
    expect(why(waiting(null))).toMatch(/nobody is asked/);
    expect(why(waiting(NOW - 60_001))).toMatch(/time to decide is over/);
    expect(why(waiting(NOW - 60_000))).toBeNull();
  });
});

describe("a turn that is not stuck", () => {
  it("runs under a lease, has ended, or lost its lease a moment ago", () => {
    expect(why(seen({}))).toBeNull();
    expect(why(seen({ endedAt: NOW - 1, state: "failed" }, { lease: null }))).toBeNull();
    expect(why(seen({}, { lease: { owner: "a", takenAt: 0, expiresAt: NOW - 5000 } }))).toBeNull();
  });
});

describe("the status of a session", () => {
  const session = (turn: SeenTurn | null): SeenSession => ({
    key: 1,
    id: "8f14e45f-ceea-467f-a0e6-b6f3c6a7d111",
    spelling: "8f14e45f-ceea-467f-a0e6-b6f3c6a7d111",
    app: "default",
    title: "New Chat",
    model: "demo/assistant",
    publicKey: null,
    messageCount: 0,
    turnCount: turn === null ? 0 : 1,
    createdAt: 0,
    updatedAt: NOW - 1000,
    usedAt: NOW - 1000,
    turn,
  });

  it.each([
    ["idle", null],
    ["idle", seen({ state: "complete", endedAt: NOW })],
    ["idle", seen({ state: "interrupted", endedAt: NOW })],
    ["failed", seen({ state: "failed", endedAt: NOW })],
    ["processing", seen({})],
    ["processing", seen({ state: "queued", runnable: true }, { lease: null })],
    ["waiting", seen({ state: "waiting" }, { lease: null, decideBy: NOW })],
    ["stuck", seen({}, { lease: null })],
  ] as const)("is %s", (status, turn) => {
    expect(sessionStatus(session(turn), NOW, limits)).toBe(status);
  });
});

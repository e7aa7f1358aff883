import { describe, expect, it } from "vitest";
import type { AdminStore, EndedTurn } from "@colloquy/engine/internal/core/ports/driven/admin-store";
import { reportLatency, reportUsage, type ReportsOptions } from "./reports.ts";

const HOUR = 3_600_000;
const NOON = Date.UTC(2026, 0, 2, 12);
const LAST_DAY = { from: null, to: null };

/** Creates reports on these turns. The time is 12:30, and the store records how many turns were requested. */
function reportsOn(turns: readonly Partial<EndedTurn>[], maxTurns?: number) {
  let largest = 0;
  let asked = 0;
  const stored = turns
    .map(
      (turn, index): EndedTurn => ({
        sessionKey: 1,
        number: index + 1,
        app: "default",
        state: "complete",
        model: "demo/assistant",
        hasAnswer: true,
        inputTokens: 0,
        outputTokens: 0,
        enqueuedAt: (turn.endedAt ?? NOON) - 100,
        startedAt: (turn.endedAt ?? NOON) - 90,
        endedAt: NOON,
        ranMs: 50,
        ...turn,
      }),
    )
    .toSorted((left, right) => right.endedAt - left.endedAt || right.number - left.number);
  const store: Pick<AdminStore, "now" | "ended"> = {
    now: () => Promise.resolve(NOON + HOUR / 2),
    ended: ({ from, to, after, limit }) => {
      asked += 1;
      // Nothing here yields to timers, so an endless report could never time out.
      if (asked > 20) throw new Error("A report asks for more and more");
      largest = Math.max(largest, limit);
      const begin = after === null ? 0 : stored.findIndex(({ number }) => number === after.number) + 1;
      const inRange = stored.slice(begin).filter(({ endedAt }) => endedAt >= from && endedAt < to);
      return Promise.resolve(inRange.slice(0, limit));
    },
  };
  const reports: ReportsOptions = { store, ...(maxTurns !== undefined && { maxTurns }) };
  return { reports, largest: () => largest };
}

describe("usage", () => {
  it("sums up by time, App and model", async () => {
    const { reports } = reportsOn([
      { endedAt: NOON + 1, inputTokens: 10, outputTokens: 1 },
      { endedAt: NOON + 2, inputTokens: 20, outputTokens: 2, state: "failed" },
      { endedAt: NOON - 1, inputTokens: 5, outputTokens: 3 },
      { endedAt: NOON, app: "defi", model: "other/model", inputTokens: 7 },
      { endedAt: NOON, hasAnswer: false, model: null, state: "interrupted", startedAt: null },
    ]);
    const noon = "2026-01-02T12:00:00.000Z";
    const none = { turns: 1, failed_turns: 0, input_tokens: 0, output_tokens: 0 };
    expect(await reportUsage(reports, { ...LAST_DAY, bucket: "hour" })).toEqual({
      bucket: "hour",
      from: "2026-01-01T12:00:00.000Z",
      to: "2026-01-02T12:30:00.001Z",
      turns_read: 5,
      covered_from: null,
      rows: [
        {
          ...none,
          at: "2026-01-02T11:00:00.000Z",
          app: "default",
          model: "demo/assistant",
          messages: 2,
          input_tokens: 5,
          output_tokens: 3,
        },
        { ...none, at: noon, app: "default", model: null, messages: 1 },
        {
          at: noon,
          app: "default",
          model: "demo/assistant",
          messages: 4,
          turns: 2,
          failed_turns: 1,
          input_tokens: 30,
          output_tokens: 3,
        },
        { ...none, at: noon, app: "defi", model: "other/model", messages: 2, input_tokens: 7 },
      ],
    });
    const { rows } = await reportUsage(reports, { ...LAST_DAY, bucket: "day" });
    expect(new Set(rows.map(({ at }) => at))).toEqual(new Set(["2026-01-02T00:00:00.000Z"]));
  });

  it("starts with a complete bucket and excludes the end time", async () => {
    const { reports } = reportsOn([{ endedAt: NOON }, { endedAt: NOON + HOUR }, { endedAt: NOON - 1 }]);
    const { from, rows } = await reportUsage(reports, { from: NOON + 5, to: NOON + HOUR, bucket: "hour" });
    expect(from).toBe("2026-01-02T12:00:00.000Z");
    expect(rows).toMatchObject([{ at: from, turns: 1 }]);
  });

  it.each([
    ["that ends before it begins", { from: NOON, to: NOON - HOUR }, "range_invalid"],
    ["of nothing", { from: NOON, to: NOON }, "range_invalid"],
    ["that begins after now", { from: NOON + HOUR, to: null }, "range_invalid"],
    ["of too many buckets", { from: NOON - 1501 * HOUR, to: NOON }, "range_too_long"],
    ["of all times", { from: -8.64e15, to: 8.64e15 }, "range_too_long"],
  ])("rejects a time range %s", async (_name, time, code) => {
    const { reports } = reportsOn([]);
    await expect(reportUsage(reports, { ...time, bucket: "hour" })).rejects.toMatchObject({
      status: 400,
      code,
    });
  });
});

describe("latency", () => {
  it("computes nearest-rank percentiles, independent of the order of turns", async () => {
    const hundred = Array.from({ length: 100 }, (_, index) => ({
      endedAt: NOON + ((index * 37) % 100),
      enqueuedAt: NOON + ((index * 37) % 100) - (index + 1),
      startedAt: null,
      ranMs: 2 * (index + 1),
    }));
    const { reports } = reportsOn(hundred);
    const { rows } = await reportLatency(reports, { ...LAST_DAY, bucket: "minute" });
    expect(rows).toEqual([
      {
        at: "2026-01-02T12:00:00.000Z",
        turns: 100,
        total_ms: { p50: 50, p95: 95, p99: 99 },
        running_ms: { p50: 100, p95: 190, p99: 198 },
        place_ms: null,
      },
    ]);
  });

  it("excludes interrupted turns and includes failed ones", async () => {
    const { reports } = reportsOn([
      { state: "interrupted", enqueuedAt: 0 },
      { state: "failed", enqueuedAt: NOON - 7, startedAt: NOON - 4, ranMs: 4 },
    ]);
    const one = (time: number) => ({ p50: time, p95: time, p99: time });
    const { rows, turns_read } = await reportLatency(reports, { ...LAST_DAY, bucket: "day" });
    expect(turns_read).toBe(2);
    expect(rows).toMatchObject([{ turns: 1, total_ms: one(7), running_ms: one(4), place_ms: one(3) }]);
  });

  it("is never negative, even if the clock was set back", async () => {
    const { reports } = reportsOn([{ enqueuedAt: NOON + 50, startedAt: NOON + 10 }]);
    const [row] = (await reportLatency(reports, { ...LAST_DAY, bucket: "day" })).rows;
    expect([row!.total_ms.p50, row!.place_ms!.p50]).toEqual([0, 0]);
  });
});

describe("a report", () => {
  const turns = Array.from({ length: 2_500 }, (_, index) => ({ endedAt: NOON + index }));

  it("reads all turns in batches", async () => {
    const { reports, largest } = reportsOn(turns);
    const { rows, turns_read, covered_from } = await reportUsage(reports, { ...LAST_DAY, bucket: "hour" });
    expect([turns_read, covered_from]).toEqual([2_500, null]);
    expect(rows).toMatchObject([{ turns: 2_500 }]);
    expect(largest()).toBeLessThanOrEqual(1_001);
  });

  it("reads a limited number of the newest turns and reports the covered range", async () => {
    const { reports } = reportsOn(turns, 2_000);
    const { rows, turns_read, covered_from } = await reportLatency(reports, { ...LAST_DAY, bucket: "hour" });
    expect([turns_read, covered_from]).toEqual([2_000, new Date(NOON + 500).toISOString()]);
    expect(rows).toMatchObject([{ turns: 2_000 }]);
    const all = reportsOn(turns, 2_500).reports;
    expect((await reportUsage(all, { ...LAST_DAY, bucket: "hour" })).covered_from).toBeNull();
  });
});

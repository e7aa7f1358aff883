import { AdminLatency, AdminUsage } from "@colloquy/protocol";
import { describe, expect, it } from "vitest";
import { useAdminService } from "./admin-service.ts";
import { expectProblem } from "./client.ts";

const service = useAdminService();

describe("GET /api/admin/usage", () => {
  it("reports the usage of every App by model", async () => {
    const { admin, say } = service();
    await say("hello", "default", 20);
    await say("hello again", "default", 20);
    await say("hello", "failing", 20);
    const interrupted = await say("count to 200", "asking");
    await admin("POST", `sessions/${interrupted}/interrupt`);
    const usage = (await admin("GET", "usage?bucket=day")).as(AdminUsage);
    expect(usage).toMatchObject({ bucket: "day", turns_read: 4, covered_from: null });
    // Midnight may pass between them.
    const all = usage.rows.map(({ at: _at, ...row }) => row);
    expect(all).toMatchObject([
      { app: "asking", model: "demo/assistant", messages: 2, turns: 1, failed_turns: 0 },
      { app: "default", model: "demo/assistant", messages: 4, turns: 2, failed_turns: 0 },
      { app: "failing", model: "broken/model", messages: 2, turns: 1, failed_turns: 1, output_tokens: 0 },
    ]);
    expect(all[1]!.input_tokens).toBeGreaterThan(0);
    expect(all[1]!.output_tokens).toBeGreaterThan(10);
  });

  it("reports the requested period", async () => {
    const before = "usage?from=2020-01-01T00:30:00Z&to=2020-01-02T02:00:00%2B01:00";
    expect((await service().admin("GET", before)).as(AdminUsage)).toEqual({
      bucket: "hour",
      from: "2020-01-01T00:00:00.000Z",
      to: "2020-01-02T01:00:00.000Z",
      turns_read: 0,
      covered_from: null,
      rows: [],
    });
  });
});

describe("GET /api/admin/latency", () => {
  it("reports durations of turns", async () => {
    const latency = (await service().admin("GET", "latency?bucket=minute")).as(AdminLatency);
    expect(latency.rows.reduce((sum, { turns }) => sum + turns, 0)).toBe(3);
    for (const { total_ms, running_ms, place_ms } of latency.rows) {
      expect(total_ms.p50).toBeLessThanOrEqual(total_ms.p95);
      expect(total_ms.p95).toBeLessThanOrEqual(total_ms.p99);
      expect(running_ms.p99).toBeLessThanOrEqual(total_ms.p99);
      expect(place_ms!.p50).toBeGreaterThanOrEqual(0);
    }
  });
});

describe.each(["usage", "latency"])("an invalid period, for %s", (report) => {
  it.each([
    "from=yesterday",
    "from=2026-01-01",
    "from=2026-13-01T00:00:00Z",
    "from=1767225600000",
    "to=",
    "bucket=week",
    "bucket=hour&bucket=day",
    "from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z",
    "from=2000-01-01T00:00:00Z",
    "from=0000-01-01T00:00:00Z&to=9999-12-31T23:59:59Z",
  ])("%s is rejected", async (query) => {
    expectProblem(await service().admin("GET", `${report}?${query}`), 400);
  });
});

import { AdminOverview } from "@colloquy/protocol";
import { describe, expect, it } from "vitest";
import { useAdminService } from "./admin-service.ts";

const service = useAdminService();

describe("GET /api/admin/overview", () => {
  it("names the process, and reports the health and latency of store and bus", async () => {
    const answer = await service().admin("GET", "overview");
    expect([answer.status, answer.headers["cache-control"]]).toEqual([200, "no-store"]);
    const overview = answer.as(AdminOverview);
    expect(overview).toMatchObject({ is_ready: true, problems: [] });
    expect(Date.parse(overview.started_at)).toBeLessThanOrEqual(Date.parse(overview.time));
    expect(overview.store).toMatchObject({ is_healthy: true, problems: [] });
    expect(overview.store.read_ms).toBeGreaterThan(0);
    expect(overview.store.commit_ms).toBeGreaterThan(0);
    expect(Math.abs(overview.store.clock_ahead_ms ?? Infinity)).toBeLessThan(5_000);
    expect(overview.bus).toMatchObject({ is_healthy: true, problems: [] });
    expect(overview.bus.round_trip_ms === null).toBe(overview.bus.kind === "in-process");
  });

  it("counts running turns and turns waiting for a person, in all processes", async () => {
    const { admin, ask, say } = service();
    await ask();
    const running = await say("count to 10000");
    const { everywhere } = (await admin("GET", "overview")).as(AdminOverview);
    expect(everywhere).toMatchObject({
      running_turns: 1,
      queued_turns: 0,
      waiting_turns: 1,
      pending_actions: 1,
    });
    const { session } = (await admin("GET", `sessions/${running}`)).json() as {
      readonly session: { readonly turn: { readonly owner: string } };
    };
    expect(everywhere?.working_nodes).toEqual([{ node: session.turn.owner, running_turns: 1 }]);
  });
});

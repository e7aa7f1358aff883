import { describe, expect, it } from "vitest";
import { testEdge } from "../testing/edge.ts";
import { expectProblem } from "../testing/expect-problem.ts";
import { itNeedsASessionId } from "../testing/session-header.ts";

describe("GET /api/control/apps", () => {
  itNeedsASessionId({ method: "GET", url: "/api/control/apps" });

  it("returns only the default App", async () => {
    const answer = await testEdge().send("GET", "/api/control/apps");
    expect(answer.statusCode).toBe(200);
    expect(answer.json()).toEqual([{ name: "default" }]);
  });

  it("returns the failing tool sources of an App, as name and problem only", async () => {
    const edge = testEdge();
    const look = { tools: 0, seen_at: "2026-11-20T09:41:00.000Z" };
    const refreshed: string[] = [];
    Object.assign(edge.services.tools, {
      refresh: async (app: string) => void refreshed.push(app),
      sources: () => [
        { name: "mcp weather", state: "failing", problem: "It is away.", ...look },
        { name: "built-in tools", state: "working", problem: null, ...look },
      ],
    });
    const answer = await edge.send("GET", "/api/control/apps");
    expect(answer.json()).toEqual([
      { name: "default", tool_problems: [{ name: "mcp weather", problem: "It is away." }] },
    ]);
    expect(refreshed).toEqual(["default"]);
  });

  it.each(["nonsense", "clq_abc_def"])(
    "gives 401 for the key %j, before anything is created",
    async (key) => {
      const edge = testEdge();
      for (const id of [undefined, "nonsense"]) {
        const headers = { "service-app-key": key, ...(id !== undefined && { "x-session-id": id }) };
        const answer = await edge.send("GET", "/api/control/apps", { headers });
        expectProblem(answer, 401, "app_key_invalid");
        expect(answer.headers["www-authenticate"]).toBeDefined();
      }
      expect(edge.services.conversations.sessions.size).toBe(0);
    },
  );
});

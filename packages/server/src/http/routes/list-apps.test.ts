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

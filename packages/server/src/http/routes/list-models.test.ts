import { describe, expect, it } from "vitest";
import { OTHER_SESSION, SESSION, testEdge } from "../testing/edge.ts";
import { expectProblem } from "../testing/expect-problem.ts";

describe("GET /api/control/models", () => {
  it("returns an array of models, with or without a session, and creates a named one", async () => {
    const edge = testEdge();
    const without = await edge.app.inject("/api/control/models");
    expect(without.statusCode).toBe(200);
    expect(without.json()).toEqual(["demo/assistant"]);
    expect(edge.services.conversations.sessions.size).toBe(0);
    expect((await edge.send("GET", "/api/control/models?app=default")).json()).toEqual(["demo/assistant"]);
    expect([...edge.services.conversations.sessions.keys()]).toEqual([SESSION]);
  });

  it("counts as a new session in rate limits", async () => {
    const rateLimits = { chatsPerMinute: 9, newSessionsPerMinute: 1, streamsPerAddress: 9 };
    const edge = testEdge({ loopback: false, rateLimits });
    expect((await edge.send("GET", "/api/control/models")).statusCode).toBe(200);
    const headers = { "x-session-id": OTHER_SESSION };
    expectProblem(await edge.send("GET", "/api/control/models", { headers }), 429, "rate_limited");
  });

  it("rejects a malformed session id", async () => {
    const headers = { "x-session-id": "x" };
    expectProblem(
      await testEdge().send("GET", "/api/control/models", { headers }),
      400,
      "session_id_invalid",
    );
  });

  it("gives 401 for any other App", async () => {
    expectProblem(await testEdge().send("GET", "/api/control/models?app=other"), 401, "app_key_invalid");
  });
});

import { describe, expect, it } from "vitest";
import { OTHER_SESSION, SESSION, testEdge } from "../testing/edge.ts";
import { expectProblem } from "../testing/expect-problem.ts";

describe("GET /api/sessions/{id}", () => {
  it("returns the thread in the path, whatever session the header names", async () => {
    const edge = testEdge();
    await edge.send("POST", "/api/sessions");
    for (const headers of [{}, { "x-session-id": OTHER_SESSION }, { "x-session-id": "nonsense" }]) {
      const answer = await edge.app.inject({ method: "GET", url: `/api/sessions/${SESSION}`, headers });
      expect(answer.statusCode).toBe(200);
      expect(answer.json()).toMatchObject({ session_id: SESSION, title: "New Chat" });
    }
    expect(edge.services.conversations.sessions.size).toBe(1);
  });

  it("accepts an id in upper case", async () => {
    const edge = testEdge();
    await edge.send("POST", "/api/sessions");
    expect((await edge.send("GET", `/api/sessions/${SESSION.toUpperCase()}`)).json()).toMatchObject({
      session_id: SESSION,
    });
  });

  it("gives 404 for an unknown id, and creates nothing", async () => {
    const edge = testEdge();
    expectProblem(await edge.send("GET", `/api/sessions/${OTHER_SESSION}`), 404, "session_not_found");
    expect(edge.services.conversations.sessions.size).toBe(0);
  });

  it.each([
    "x",
    "00000000-0000-0000-0000-000000000000",
    "ffffffff-ffff-ffff-ffff-ffffffffffff",
    "a".repeat(5000),
    "7f8d1f0e-8a54-4c4e-9d27-0b5c3c0b8d11%20",
  ])("rejects the id %j", async (id) => {
    const detail = expectProblem(
      await testEdge().send("GET", `/api/sessions/${id}`),
      400,
      "parameter_invalid",
    );
    expect(detail).toContain('"id"');
  });

  it.each(["%zz", "%ff", "%00"])("rejects the path %j", async (id) => {
    expect((await testEdge().send("GET", `/api/sessions/${id}`)).statusCode).toBe(400);
  });
});

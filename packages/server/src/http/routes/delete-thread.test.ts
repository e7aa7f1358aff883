import { describe, expect, it } from "vitest";
import { OTHER_SESSION, SESSION, testEdge } from "../testing/edge.ts";
import { expectProblem } from "../testing/expect-problem.ts";

describe("DELETE /api/sessions/{id}", () => {
  it("deletes the session in the path, and reports it", async () => {
    const edge = testEdge();
    await edge.send("POST", "/api/sessions");
    const answer = await edge.app.inject({
      method: "DELETE",
      url: `/api/sessions/${SESSION.toUpperCase()}`,
      headers: { "x-session-id": OTHER_SESSION },
    });
    expect(answer.statusCode).toBe(200);
    expect(answer.json()).toEqual({ session_id: SESSION, deleted: true });
    expect(edge.services.conversations.sessions.size).toBe(0);
  });

  it("gives 404 the second time, and 400 for a malformed id", async () => {
    const edge = testEdge();
    expectProblem(await edge.send("DELETE", `/api/sessions/${SESSION}`), 404, "session_not_found");
    expectProblem(await edge.send("DELETE", "/api/sessions/x"), 400, "parameter_invalid");
  });

  it.each(["", "{}"])("accepts the body %j", async (payload) => {
    const edge = testEdge();
    await edge.send("POST", "/api/sessions");
    const headers = { "content-type": "application/json" };
    expect((await edge.send("DELETE", `/api/sessions/${SESSION}`, { headers, payload })).statusCode).toBe(
      200,
    );
  });
});

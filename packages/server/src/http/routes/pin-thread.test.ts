import { describe, expect, it } from "vitest";
import { OTHER_SESSION, SESSION, testEdge } from "../testing/edge.ts";
import { expectProblem } from "../testing/expect-problem.ts";

describe("PUT and DELETE /api/sessions/{id}/pin", () => {
  it("return the thread with its pin, also when repeated", async () => {
    const edge = testEdge();
    await edge.send("POST", "/api/sessions");
    for (const [method, pinned] of [
      ["PUT", true],
      ["PUT", true],
      ["DELETE", false],
      ["DELETE", false],
    ] as const) {
      const answer = await edge.send(method, `/api/sessions/${SESSION}/pin`);
      expect(answer.statusCode).toBe(200);
      expect(answer.json()).toMatchObject({ session_id: SESSION, pinned });
    }
  });

  it("give 404 for an unknown id and 400 for a malformed one, and create nothing", async () => {
    const edge = testEdge();
    for (const method of ["PUT", "DELETE"] as const) {
      const unknown = await edge.send(method, `/api/sessions/${OTHER_SESSION}/pin`);
      expectProblem(unknown, 404, "session_not_found");
      expectProblem(await edge.send(method, "/api/sessions/x/pin"), 400, "parameter_invalid");
    }
    expect(edge.services.conversations.sessions.size).toBe(0);
  });
});

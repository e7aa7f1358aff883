import { describe, expect, it } from "vitest";
import { OTHER_SESSION, SESSION, testEdge } from "../testing/edge.ts";
import { expectProblem } from "../testing/expect-problem.ts";

async function edgeWithSession() {
  const edge = testEdge();
  await edge.send("POST", "/api/sessions");
  return edge;
}

describe("PATCH /api/sessions/{id}", () => {
  it("returns the thread with its new title, trimmed", async () => {
    const edge = await edgeWithSession();
    const answer = await edge.app.inject({
      method: "PATCH",
      url: `/api/sessions/${SESSION}`,
      payload: { title: "  Bridging\u00a0" },
    });
    expect(answer.statusCode).toBe(200);
    expect(answer.json()).toMatchObject({ session_id: SESSION, title: "Bridging" });
  });

  it.each([
    [{ title: "" }, "parameter_invalid"],
    [{ title: " \n\t " }, "parameter_invalid"],
    [{ title: "x".repeat(201) }, "parameter_invalid"],
    [{ title: "\u0007\u200b\u2060" }, "parameter_invalid"],
    [{ title: "\u3164\u2800\u115f" }, "parameter_invalid"],
    [{ title: "\u034f\ufe0f\u0301" }, "parameter_invalid"],
    [{ title: 7 }, "parameter_invalid"],
    [{ title: null }, "parameter_invalid"],
    [{ title: ["a"] }, "parameter_invalid"],
    [{}, "parameter_missing"],
    [[], "body_invalid"],
    [undefined, "body_invalid"],
  ])("rejects the body %j", async (payload, code) => {
    const edge = await edgeWithSession();
    const answer = await edge.send(
      "PATCH",
      `/api/sessions/${SESSION}`,
      payload === undefined ? {} : { payload },
    );
    expectProblem(answer, 400, code);
    expect((await edge.send("GET", `/api/sessions/${SESSION}`)).json()).toMatchObject({ title: "New Chat" });
  });

  it("accepts a title of 200 characters", async () => {
    const edge = await edgeWithSession();
    const payload = { title: ` ${"x".repeat(200)} ` };
    expect((await edge.send("PATCH", `/api/sessions/${SESSION}`, { payload })).statusCode).toBe(200);
  });

  it("gives 404 for an unknown id, 400 for a malformed one, and 400 before 404", async () => {
    const edge = testEdge();
    const payload = { title: "x" };
    expectProblem(
      await edge.send("PATCH", `/api/sessions/${OTHER_SESSION}`, { payload }),
      404,
      "session_not_found",
    );
    expectProblem(await edge.send("PATCH", "/api/sessions/x", { payload }), 400, "parameter_invalid");
    expectProblem(
      await edge.send("PATCH", `/api/sessions/${OTHER_SESSION}`, { payload: {} }),
      400,
      "parameter_missing",
    );
    expect(edge.services.conversations.sessions.size).toBe(0);
  });
});

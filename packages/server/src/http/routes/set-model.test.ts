import { describe, expect, it } from "vitest";
import { SESSION, testEdge } from "../testing/edge.ts";
import { expectProblem } from "../testing/expect-problem.ts";
import { itNeedsASessionId } from "../testing/session-header.ts";

const SET = "/api/control/model?rig=demo/assistant";

describe("POST /api/control/model", () => {
  itNeedsASessionId({ method: "POST", url: SET });

  it("returns the session's models, and whether it created the session", async () => {
    const edge = testEdge();
    const first = await edge.send("POST", SET);
    expect(first.statusCode).toBe(200);
    expect(first.json()).toEqual({
      success: true,
      rig: "demo/assistant",
      baml: "demo/assistant",
      created: true,
    });
    expect((await edge.send("POST", SET)).json()).toMatchObject({ created: false });
  });

  it("passes on the utility model and the App", async () => {
    const edge = testEdge();
    await edge.send("POST", "/api/control/model?rig=demo%2Fassistant&baml=a/b&app=default");
    expect(edge.services.conversations.last.setModel).toEqual({
      sessionId: SESSION,
      app: "default",
      rig: "demo/assistant",
      utilityModel: "a/b",
    });
  });

  it.each([
    ["", "parameter_missing"],
    ["rig=", "parameter_invalid"],
    ["rig=a&rig=b", "parameter_repeated"],
    ["rig=demo/assistant&app=default&app=default", "parameter_repeated"],
    ["rig=nobody/has-it", "model_unknown"],
  ])("rejects ?%s", async (query, code) => {
    const edge = testEdge();
    expectProblem(await edge.send("POST", `/api/control/model?${query}`), 400, code);
    expect(edge.services.conversations.sessions.size).toBe(0);
  });

  it("gives 401 for any other App, before any other check", async () => {
    for (const headers of [{}, { "service-app-key": "clq_x_y" }, { "x-session-id": "nonsense" }]) {
      const edge = testEdge();
      const answer = await edge.send("POST", "/api/control/model?app=other", { headers });
      expectProblem(answer, 401, "app_key_invalid");
      expect(answer.headers["www-authenticate"]).toBeDefined();
      expect(edge.services.conversations.sessions.size).toBe(0);
    }
  });

  it("ignores a key for the default App", async () => {
    expect((await testEdge().send("POST", SET, { headers: { "service-app-key": "x" } })).statusCode).toBe(
      200,
    );
  });
});

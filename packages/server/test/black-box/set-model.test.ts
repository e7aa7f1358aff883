import { describe, expect, it } from "vitest";
import { expectProblem, newSession, send, state } from "./client.ts";
import { EventReader } from "./event-reader.ts";
import { useService } from "./server.ts";

const url = useService();

function set(session: string, query: string, headers = {}) {
  return send(url(), "POST", `/api/control/model?${query}`, { session, headers });
}

describe("POST /api/control/model", () => {
  it("returns success, rig, baml and created", async () => {
    const session = newSession();
    const first = await set(session, "rig=demo/assistant");
    expect(first.status).toBe(200);
    expect(first.json()).toEqual({
      success: true,
      rig: "demo/assistant",
      baml: "demo/assistant",
      created: true,
    });
    expect((await set(session, "rig=demo%2Fassistant&baml=demo/assistant")).json()).toEqual({
      success: true,
      rig: "demo/assistant",
      baml: "demo/assistant",
      created: false,
    });
    expect((await state(url(), session)).model).toBe("demo/assistant");
  });

  it.each(["", "rig=", "rig=nobody/has-it", "rig=a&rig=b", "rig=demo/assistant&baml=nobody/has-it"])(
    "rejects ?%s with 400, and creates nothing",
    async (query) => {
      const session = newSession();
      expectProblem(await set(session, query), 400);
      expectProblem(await send(url(), "GET", `/api/sessions/${session}`), 404);
    },
  );

  it.each([{}, { "SERVICE-APP-KEY": "clq_x_y" }])(
    "answers 401 for any App but default, with %j",
    async (headers) => {
      const session = newSession();
      expectProblem(await set(session, "rig=demo/assistant&app=other", headers), 401);
      expectProblem(await set(session, "app=other", headers), 401);
      expectProblem(await send(url(), "GET", `/api/sessions/${session}`), 404);
    },
  );

  it("ignores a key for the default App", async () => {
    const answer = await set(newSession(), "rig=demo/assistant&app=default", {
      "SERVICE-APP-KEY": "clq_x_y",
    });
    expect(answer.status).toBe(200);
  });
});

describe("a selected model", () => {
  const choice = useService({
    apps: { default: { models: ["demo/assistant", "local/other"] } },
    providers: { local: { kind: "openai-compatible", baseURL: "http://127.0.0.1:9/v1" } },
  });

  it("belongs to the session, is stored, and appears in state events", async () => {
    const session = newSession();
    const reader = await EventReader.connect(choice(), session, { include: "state" });
    const set = (query: string) => send(choice(), "POST", `/api/control/model?${query}`, { session });
    expect((await set("rig=local/other")).json()).toMatchObject({
      rig: "local/other",
      baml: "demo/assistant",
    });
    expect((await set("rig=local/other&baml=local/other")).json()).toMatchObject({ baml: "local/other" });
    expect((await reader.find(({ type }) => type === "state_changed")).event).toEqual({
      type: "state_changed",
      session_id: session,
      model: "local/other",
      app: "default",
      status: "idle",
      user_state: null,
    });
    reader.leave();
    expect((await state(choice(), session)).model).toBe("local/other");
    expect((await state(choice(), newSession())).model).toBe("demo/assistant");
    expect((await send(choice(), "GET", "/api/control/models", { session })).json()).toEqual([
      "demo/assistant",
      "local/other",
    ]);
  });
});

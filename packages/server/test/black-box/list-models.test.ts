import { describe, expect, it } from "vitest";
import { expectProblem, newSession, send } from "./client.ts";
import { useService } from "./server.ts";

const url = useService();

describe("GET /api/control/models", () => {
  it("returns an array of identifiers, with or without a session", async () => {
    const session = newSession();
    await send(url(), "POST", "/api/sessions", { session });
    for (const call of [{}, { session }, { session: newSession() }]) {
      const answer = await send(url(), "GET", "/api/control/models", call);
      expect(answer.status).toBe(200);
      expect(answer.json()).toContain("demo/assistant");
    }
  });

  it("creates the named session", async () => {
    const session = newSession();
    await send(url(), "GET", "/api/control/models", { session });
    expect((await send(url(), "GET", `/api/sessions/${session}`)).json()).toMatchObject({
      session_id: session,
    });
  });

  it("rejects a malformed session id with 400, and any App but default with 401", async () => {
    expectProblem(await send(url(), "GET", "/api/control/models", { session: "nonsense" }), 400);
    expectProblem(await send(url(), "GET", "/api/control/models?app=other"), 401);
  });
});

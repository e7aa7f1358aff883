import { describe, expect, it } from "vitest";
import { expectProblem, newSession, send } from "./client.ts";
import { useService } from "./server.ts";

const url = useService();

describe("GET /api/control/apps", () => {
  it("returns only the default App, without secrets, and creates the session", async () => {
    const session = newSession();
    const answer = await send(url(), "GET", "/api/control/apps", { session });
    expect(answer.status).toBe(200);
    expect(answer.json()).toEqual([{ name: "default", suggestions: expect.any(Array) }]);
    expect((await send(url(), "GET", `/api/sessions/${session}`)).status).toBe(200);
  });

  it("rejects an invalid key with 401, and creates nothing", async () => {
    const session = newSession();
    const headers = { "SERVICE-APP-KEY": "clq_x_y" };
    const answer = await send(url(), "GET", "/api/control/apps", { session, headers });
    expectProblem(answer, 401);
    expect(answer.headers["www-authenticate"]).toBeDefined();
    expectProblem(await send(url(), "GET", `/api/sessions/${session}`), 404);
  });
});

import { describe, expect, it } from "vitest";
import { newSession, send } from "./client.ts";
import { useService } from "./server.ts";

const url = useService();

describe("GET /api/sessions/{id}", () => {
  it("returns session_id and title, with any or no session header", async () => {
    const session = newSession();
    await send(url(), "POST", "/api/sessions", { session });
    for (const call of [{}, { session }, { session: newSession() }]) {
      const answer = await send(url(), "GET", `/api/sessions/${session}`, call);
      expect(answer.status).toBe(200);
      expect(answer.headers["cache-control"]).toBe("no-store");
      expect(answer.json()).toMatchObject({
        session_id: session,
        title: "New Chat",
        app: "default",
        created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        updated_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      });
    }
  });

  it("finds an id in upper case", async () => {
    const session = newSession();
    await send(url(), "POST", "/api/sessions", { session });
    const answer = await send(url(), "GET", `/api/sessions/${session.toUpperCase()}`);
    expect(answer.json()).toMatchObject({ session_id: session });
  });
});

import { describe, expect, it } from "vitest";
import { newSession, send } from "./client.ts";
import { useService } from "./server.ts";

const url = useService();

describe("PUT and DELETE /api/sessions/{id}/pin", () => {
  it("return the thread with its pin, also when repeated", async () => {
    const session = newSession();
    await send(url(), "POST", "/api/sessions", { session });
    for (const [method, pinned] of [
      ["PUT", true],
      ["PUT", true],
      ["DELETE", false],
      ["DELETE", false],
    ] as const) {
      const answer = await send(url(), method, `/api/sessions/${session}/pin`);
      expect(answer.status).toBe(200);
      expect(answer.json()).toMatchObject({ session_id: session, pinned });
    }
  });
});

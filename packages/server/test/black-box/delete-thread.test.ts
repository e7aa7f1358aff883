import { describe, expect, it } from "vitest";
import { chat, expectProblem, newSession, newWallet, send, whenIdle, state } from "./client.ts";
import { EventReader } from "./event-reader.ts";
import { useService } from "./server.ts";

const url = useService();

describe("DELETE /api/sessions/{id}", () => {
  it("deletes the thread and its messages", async () => {
    const session = newSession();
    await chat(url(), session, "hello");
    await whenIdle(url(), session);
    const answer = await send(url(), "DELETE", `/api/sessions/${session}`, { session: newSession() });
    expect(answer.status).toBe(200);
    expect(answer.json()).toEqual({ session_id: session, deleted: true });
    expectProblem(await send(url(), "GET", `/api/sessions/${session}`), 404);
    expectProblem(await send(url(), "GET", `/api/sessions/${session}/messages`), 404);
    expectProblem(await send(url(), "DELETE", `/api/sessions/${session}`), 404);
  });

  it("stops the running turn; the same id starts a new incarnation without anything of the old one", async () => {
    const session = newSession();
    await chat(url(), session, "count to 200");
    await send(url(), "DELETE", `/api/sessions/${session}`);
    const reborn = await state(url(), session);
    expect(reborn).toMatchObject({
      messages: [],
      system_events: [],
      title: "New Chat",
      is_processing: false,
    });
    await chat(url(), session, "hello");
    const after = await whenIdle(url(), session);
    expect(after.messages).toHaveLength(2);
    expect(JSON.stringify(after)).not.toContain("count to 200");
  });

  it("binds no wallet of the old incarnation to the new one", async () => {
    const session = newSession();
    const wallets = [newWallet(), newWallet()];
    for (const public_key of wallets) {
      expect((await send(url(), "POST", "/api/sessions", { session, json: { public_key } })).status).toBe(
        200,
      );
      await send(url(), "DELETE", `/api/sessions/${session}`);
    }
  });

  it("ends open streams after a last notice", async () => {
    const session = newSession();
    const reader = await EventReader.connect(url(), session);
    await send(url(), "DELETE", `/api/sessions/${session}`);
    await reader.until(() => reader.ended);
    expect(reader.events.at(-1)?.event).toMatchObject({ type: "system_notice", code: "session_deleted" });
  });
});

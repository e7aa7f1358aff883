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
    const begun = await send(url(), "POST", "/api/sessions", { session });
    expect(begun.status).toBe(200);
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

  describe("then, for ten minutes", () => {
    /** Returns the id of a session that was deleted. */
    async function deleted(): Promise<string> {
      const session = newSession();
      await chat(url(), session, "hello");
      await send(url(), "DELETE", `/api/sessions/${session}`);
      return session;
    }
    const expectGone = async (session: string) =>
      expectProblem(await send(url(), "GET", `/api/sessions/${session}`), 404, "session_not_found");

    it.each([
      ["GET", "/api/state"],
      ["GET", '/api/state?user_state={"a":1}'],
      ["GET", "/api/updates"],
      ["POST", "/api/interrupt"],
      ["GET", "/api/actions"],
    ])("answers %s %s with 404, and creates nothing", async (method, path) => {
      const session = await deleted();
      const headers = path === "/api/updates" ? { Accept: "text/event-stream" } : {};
      expectProblem(await send(url(), method, path, { session, headers }), 404, "session_deleted");
      await expectGone(session);
    });

    it.each([
      `/api/sessions?public_key=${newWallet()}`,
      `/api/sessions?public_key=${newWallet()}&limit=1`,
      "/api/control/models",
      "/api/control/apps",
    ])("answers GET %s as ever, and creates nothing", async (path) => {
      const session = await deleted();
      expect((await send(url(), "GET", path, { session })).status).toBe(200);
      await expectGone(session);
    });

    it.each([["/api/chat?message=again"], ["/api/sessions"], ["/api/control/model?rig=demo%2Fassistant"]])(
      "begins anew with POST %s",
      async (path) => {
        const session = await deleted();
        expect((await send(url(), "POST", path, { session })).status).toBe(200);
        expect(JSON.stringify(await state(url(), session))).not.toContain("hello");
      },
    );
  });

  it.each([
    "/api/state",
    `/api/sessions?public_key=${newWallet()}`,
    "/api/control/models",
    "/api/control/apps",
  ])("leaves it to GET %s to create a session that was never deleted", async (path) => {
    const session = newSession();
    expect((await send(url(), "GET", path, { session })).status).toBe(200);
    expect((await send(url(), "GET", `/api/sessions/${session}`)).status).toBe(200);
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

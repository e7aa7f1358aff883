import { describe, expect, it } from "vitest";
import { chat, expectProblem, expectSnapshot, newSession, send, whenIdle, state } from "./client.ts";
import { useService } from "./server.ts";

const url = useService();

describe("GET /api/state", () => {
  it("creates the session and returns its snapshot", async () => {
    const session = newSession();
    const first = await state(url(), session);
    expect(first).toMatchObject({
      messages: [],
      system_events: [],
      title: "New Chat",
      is_processing: false,
      user_state: null,
      app: "default",
      status: "idle",
      model: "demo/assistant",
      last_event_id: expect.stringMatching(/^[0-9a-z]+-\d+$/),
    });
    expect((await send(url(), "GET", `/api/sessions/${session}`)).status).toBe(200);
    expect(await state(url(), session.toUpperCase())).toEqual(first);
  });

  it("is byte for byte the same without changes, and has an ETag", async () => {
    const session = newSession();
    await chat(url(), session, "hello");
    await whenIdle(url(), session);
    await expect.poll(async () => (await state(url(), session)).title).not.toBe("New Chat");
    const first = await send(url(), "GET", "/api/state", { session });
    const again = await send(url(), "GET", "/api/state", { session });
    expect(again.text).toBe(first.text);
    expect(again.headers.etag).toBe(first.headers.etag);
    expect(first.headers.etag).toMatch(/^"[^"]+"$/);
    expect(Number(first.headers["content-length"])).toBe(Buffer.byteLength(first.text));
  });

  it("answers 304 to a matching ETag, and the new snapshot after a change", async () => {
    const session = newSession();
    const tag = String((await send(url(), "GET", "/api/state", { session })).headers.etag);
    for (const known of [tag, `W/${tag}`, `"other", ${tag}`, "*"]) {
      const answer = await send(url(), "GET", "/api/state", { session, headers: { "If-None-Match": known } });
      expect([known, answer.status, answer.text]).toEqual([known, 304, ""]);
      expect(answer.headers.etag).toBe(tag);
    }
    await send(url(), "PATCH", `/api/sessions/${session}`, { json: { title: "Changed" } });
    const changed = await send(url(), "GET", "/api/state", { session, headers: { "If-None-Match": tag } });
    expect(expectSnapshot(changed, session).title).toBe("Changed");
    expect(changed.headers.etag).not.toBe(tag);
  });

  it("merges user state; a merge without effect changes no byte", async () => {
    const session = newSession();
    const merge = (user_state: object) => {
      const query = new URLSearchParams({ user_state: JSON.stringify(user_state), client_id: "web" });
      return send(url(), "GET", `/api/state?${query.toString()}`, { session });
    };
    const first = await merge({ evm: { address: "0x1", chain_id: 1 }, connection: { is_connected: true } });
    expect(expectSnapshot(first, session).user_state).toEqual({
      evm: { address: "0x1", chain_id: 1 },
      connection: { is_connected: true },
    });
    const same = await merge({ evm: { chain_id: 1 } });
    expect(same.text).toBe(first.text);
    const changed = await merge({ evm: { chain_id: "137" }, connection: { is_connected: null } });
    expect(expectSnapshot(changed, session).user_state).toEqual({
      evm: { address: "0x1", chain_id: "137" },
      connection: { is_connected: null },
    });
  });

  it("waits until the session has stopped processing, on request", async () => {
    const session = newSession();
    await chat(url(), session, "count to 10");
    const answer = await send(url(), "GET", "/api/state", { session, headers: { Prefer: "wait=30" } });
    expect(expectSnapshot(answer, session).messages[1]?.content).toBe("1 2 3 4 5 6 7 8 9 10");
    expect(answer.headers["preference-applied"]).toBe("wait=30");
    const idle = await send(url(), "GET", "/api/state", { session, headers: { Prefer: "wait=30" } });
    expect(expectSnapshot(idle, session).is_processing).toBe(false);
  });

  it("answers HEAD without a body", async () => {
    const session = newSession();
    const get = await send(url(), "GET", "/api/state", { session });
    const head = await send(url(), "HEAD", "/api/state", { session });
    expect([head.status, head.text, head.headers.etag]).toEqual([200, "", get.headers.etag]);
  });

  it.each([
    "user_state=[1]",
    "user_state=%7B%22evm%22%3A7%7D",
    "user_state=nonsense",
    "client_id=%0A",
    "user_state=%7B%7D&user_state=%7B%7D",
  ])("rejects ?%s with 400, and creates nothing", async (query) => {
    const session = newSession();
    expectProblem(await send(url(), "GET", `/api/state?${query}`, { session }), 400);
    expectProblem(await send(url(), "GET", `/api/sessions/${session}`), 404);
  });
});

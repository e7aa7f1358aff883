import { randomUUID } from "node:crypto";
import { AdminSession, AdminSessionDetail, AdminSessionPage, PersistedMessage } from "@colloquy/protocol";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { useAdminService } from "./admin-service.ts";
import { expectProblem, send } from "./client.ts";

const service = useAdminService();

async function list(query = ""): Promise<AdminSessionPage> {
  return (await service().admin("GET", `sessions${query}`)).as(AdminSessionPage);
}

const idsIn = (page: AdminSessionPage) => page.sessions.map(({ session_id }) => session_id);

describe("GET /api/admin/sessions", () => {
  it("finds sessions of every App by status", async () => {
    const { ask, say } = service();
    const failed = await say("hello", "failing", 20);
    const waiting = await ask();
    const idle = await say("hello", "default", 20);
    const running = await say("count to 10000");
    expect(idsIn(await list())).toEqual([running, idle, waiting, failed]);
    for (const [status, id] of Object.entries({ failed, waiting, idle, processing: running })) {
      const { sessions } = await list(`?status=${status}`);
      expect(sessions.map(({ session_id, status: is }) => [session_id, is])).toEqual([[id, status]]);
    }
    expect(await list("?status=stuck")).toEqual({ sessions: [], next_cursor: null, is_complete: true });
    expect(idsIn(await list("?app=asking"))).toEqual([waiting]);
    expect(idsIn(await list(`?search=${idle.toUpperCase()}`))).toEqual([idle]);
    const [ofFailed] = (await list("?status=failed")).sessions;
    expect(ofFailed).toMatchObject({ app: "failing", turn: { state: "failed", model: "broken/model" } });
    expect(ofFailed!.turn!.error).toMatch(/^[a-z_]+$/);
    const [ofRunning] = (await list("?status=processing")).sessions;
    expect(ofRunning).toMatchObject({
      message_count: 2,
      turn: { attempts: 1, state: "running", stuck: null },
    });
    expect(ofRunning!.turn!.lease_expires_at).not.toBeNull();
  });

  it("is paginated", async () => {
    const first = await list("?limit=3");
    const rest = await list(`?limit=3&cursor=${first.next_cursor}`);
    expect(new Set([...idsIn(first), ...idsIn(rest)]).size).toBe(4);
    expect(rest.next_cursor).toBeNull();
  });

  it.each([
    "?status=busy",
    "?limit=0",
    "?limit=201",
    "?limit=x",
    "?cursor=x",
    "?search=",
    `?search=${"x".repeat(201)}`,
    `?app=${"x".repeat(65)}`,
    "?status=idle&status=idle",
  ])("rejects %s", async (query) => {
    expectProblem(await service().admin("GET", `sessions${query}`), 400);
  });
});

describe("GET /api/admin/sessions/{id}", () => {
  it("returns the session with its turns, newest first, paginated", async () => {
    const { url, admin, say } = service();
    const session = await say("hello", "default", 20);
    await send(url, "POST", "/api/chat?message=again", { session, headers: { Prefer: "wait=20" } });
    const whole = (await admin("GET", `sessions/${session}`)).as(AdminSessionDetail);
    expect(whole.turns.map(({ number, state }) => [number, state])).toEqual([
      [2, "complete"],
      [1, "complete"],
    ]);
    expect(whole.turns[0]).toEqual(whole.session.turn);
    expect(whole.turns[0]!.output_tokens).toBeGreaterThan(0);
    const first = (await admin("GET", `sessions/${session}?limit=1`)).as(AdminSessionDetail);
    expect(first.turns).toEqual(whole.turns.slice(0, 1));
    const path = `sessions/${session}?limit=1&before=${first.next_before}`;
    const rest = (await admin("GET", path)).as(AdminSessionDetail);
    expect(rest.turns).toEqual(whole.turns.slice(1));
    expect(rest.next_before).toBeNull();
  });
});

describe("GET /api/admin/sessions/{id}/messages", () => {
  it("returns the messages of a session whose App requires a key for everything", async () => {
    const { url, admin, say } = service();
    const session = await say("hello", "failing", 20);
    expectProblem(await send(url, "GET", `/api/sessions/${session}/messages`), 401);
    const messages = (await admin("GET", `sessions/${session}/messages`)).as(z.array(PersistedMessage));
    expect(messages.map(({ role }) => role)).toEqual(["user", "assistant"]);
    const path = `sessions/${session}/messages?after=${messages[0]!.id}&limit=1`;
    expect((await admin("GET", path)).json()).toEqual(messages.slice(1));
  });
});

describe("POST /api/admin/sessions/{id}/interrupt", () => {
  it("stops a running turn, and leaves an idle session unchanged", async () => {
    const { admin, say } = service();
    const session = await say("count to 10000");
    for (let time = 0; time < 2; time += 1) {
      const answer = (await admin("POST", `sessions/${session}/interrupt`)).as(AdminSession);
      expect(answer).toMatchObject({ status: "idle", turn: { state: "interrupted", owner: null } });
    }
  });
});

describe("DELETE /api/admin/sessions/{id}", () => {
  it("deletes the session, of whatever App, with its running or waiting turn", async () => {
    const { url, admin, ask, say } = service();
    for (const session of [await say("count to 10000"), await ask()]) {
      const answer = await admin("DELETE", `sessions/${session}`);
      expect(answer.json()).toEqual({ session_id: session, deleted: true });
      expectProblem(await admin("DELETE", `sessions/${session}`), 404);
      expectProblem(await send(url, "GET", `/api/sessions/${session}`), 404);
    }
  });
});

describe("an unknown session", () => {
  it.each([
    ["GET", ""],
    ["GET", "/messages"],
    ["POST", "/interrupt"],
    ["DELETE", ""],
  ])("%s %s answers 404 and creates none; a malformed id gives 400", async (method, path) => {
    const { admin } = service();
    const id = randomUUID();
    expectProblem(await admin(method, `sessions/${id}${path}`), 404);
    expectProblem(await admin("GET", `sessions/${id}`), 404);
    expectProblem(await admin(method, `sessions/nonsense${path}`), 400);
    expectProblem(await admin(method, `sessions/00000000-0000-0000-0000-000000000000${path}`), 400);
  });
});

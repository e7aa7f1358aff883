import type { Snapshot } from "@colloquy/protocol";
import { beforeAll, describe, expect, it, vi } from "vitest";
import { chat, expectProblem, expectSnapshot, newSession, send, state, whenIdle } from "./client.ts";
import { NODES } from "./processes.ts";
import { useService } from "./server.ts";

const url = useService();
/** Exceeds the 32 messages that the service stores in one chunk. */
const TURNS = 20;

/** Returns the snapshot for a query. */
async function range(session: string, query: string, path = "/api/state", method = "GET"): Promise<Snapshot> {
  return expectSnapshot(await send(url(), method, `${path}?${query}`, { session }), session);
}

describe("messages=last:N", () => {
  const session = newSession();
  let whole: Snapshot;
  const ids = ({ messages }: Snapshot): string[] => messages.map(({ id }) => id);

  beforeAll(async () => {
    for (let turn = 1; turn <= TURNS; turn += 1) {
      await chat(url(), session, `what is ${turn} + 1?`);
      await whenIdle(url(), session);
    }
    await vi.waitFor(async () => expect((await state(url(), session)).title).not.toBe("New Chat"), {
      timeout: 20_000,
    });
    whole = await state(url(), session);
  });

  it("returns the last messages and the number of earlier ones, with all other fields unchanged", async () => {
    expect(whole.messages).toHaveLength(2 * TURNS);
    expect(whole).not.toHaveProperty("messages_before");
    for (const last of [1, 5, 8, 9, 39, 40, 41, 1_000]) {
      const messages = whole.messages.slice(-last);
      const messages_before = whole.messages.length - messages.length;
      expect(await range(session, `messages=last:${last}`)).toEqual({
        ...whole,
        messages,
        messages_before,
      });
    }
    expect(await range(session, "messages=last:0")).toEqual({
      ...whole,
      messages: [],
      messages_before: 2 * TURNS,
    });
    expect(await range(session, "messages=")).toEqual(whole);
  });

  it("pages back through all messages with `before`, without gaps or duplicates", async () => {
    let page = await range(session, "messages=last:7");
    const seen = ids(page);
    while (page.messages_before !== 0) {
      page = await range(session, `messages=last:7&before=${seen[0]?.toUpperCase()}`);
      seen.unshift(...ids(page));
      expect(page.messages_before).toBe(2 * TURNS - seen.length);
    }
    expect(seen).toEqual(ids(whole));
    const none = await range(session, `messages=last:7&before=${seen[0]}`);
    expect([none.messages, none.messages_before]).toEqual([[], 0]);
  });

  it("has its own ETag, which changes with the session", async () => {
    const get = (query: string, etag?: string) =>
      send(url(), "GET", `/api/state${query}`, {
        session,
        ...(etag !== undefined && { headers: { "If-None-Match": etag } }),
      });
    const etag = String((await get("?messages=last:3")).headers.etag);
    expect((await get("?messages=last:3", etag)).status).toBe(304);
    expect((await get("?messages=last:4", etag)).status).toBe(200);
    expect((await get("", etag)).status).toBe(200);
    const [first] = whole.messages;
    const feedback = `/api/sessions/${session}/messages/${whole.messages[1]?.id}/feedback`;
    // A change of an omitted message changes `last_event_id`.
    expect((await send(url(), "PUT", feedback, { json: { score: 1 } })).status).toBe(200);
    const changed = await get("?messages=last:3", etag);
    expect(changed.status).toBe(200);
    expect(changed.text).not.toContain(first?.id);
    await send(url(), "PUT", feedback, { json: { score: 0 } });
    whole = await state(url(), session);
  });

  it("supports forks, edits and feedback of omitted messages", async () => {
    const copy = newSession();
    const fork = { session_id: copy, through_message_id: whole.messages[1]?.id };
    expect((await send(url(), "POST", `/api/sessions/${session}/fork`, { json: fork })).status).toBe(200);
    expect(await range(copy, "messages=last:1")).toMatchObject({
      messages: [{ content: whole.messages[1]?.content }],
      messages_before: 1,
    });
    const first = (await state(url(), copy)).messages[0]?.id;
    const query = `message=hello&replaces=${first}&messages=last:1`;
    const edited = await range(copy, query, "/api/chat", "POST");
    expect(edited).toMatchObject({ messages: [{ content: "hello" }], messages_before: 0 });
  });

  it.each(["last:1001", "last:-1", "last:", "last:1.5", "first:3", "50", "last:01e1", "last:3,last:4"])(
    "rejects messages=%s with 400, and creates no session",
    async (messages) => {
      const other = newSession();
      for (const [method, path] of [
        ["GET", "/api/state?"],
        ["POST", "/api/chat?message=hello&"],
        ["POST", "/api/interrupt?"],
      ] as const) {
        const answer = await send(url(), method, `${path}messages=${encodeURIComponent(messages)}`, {
          session: other,
        });
        expect(expectProblem(answer, 400, "parameter_invalid")).toContain('must be "last:N"');
      }
      expectProblem(await send(url(), "GET", `/api/sessions/${other}`), 404);
    },
  );

  it("rejects an unknown `before` with 404, and a malformed one or one without `messages` with 400", async () => {
    const before = async (query: string) => await send(url(), "GET", `/api/state?${query}`, { session });
    const unknown = await before(`messages=last:3&before=${newSession()}`);
    expect(expectProblem(unknown, 404, "message_not_found")).toContain("before");
    const other = newSession();
    await chat(url(), other, "hello");
    const [foreign] = (await whenIdle(url(), other)).messages;
    expectProblem(await before(`messages=last:3&before=${foreign?.id}`), 404, "message_not_found");
    expectProblem(await before("messages=last:3&before=7"), 400, "parameter_invalid");
    expectProblem(await before(`before=${whole.messages[3]?.id}`), 400, "parameter_missing");
    expect(ids(await range(session, "messages=last:3&before="))).toEqual(ids(whole).slice(-3));
  });
});

describe("messages=last:N of a busy session", () => {
  it("includes the answer in progress, queued messages, and all later ones", async () => {
    const session = newSession();
    await chat(url(), session, "what is 1 + 1?");
    await whenIdle(url(), session);
    await chat(url(), session, "count to 10000");
    // Nodes take turns, and each of them shows the answer once it has text.
    const isShown = async (): Promise<boolean> =>
      (await range(session, "messages=last:0")).messages.some(({ status }) => status === "streaming");
    const areShown = async (): Promise<boolean> => {
      for (let node = 0; node < (NODES?.count ?? 1); node += 1) if (!(await isShown())) return false;
      return true;
    };
    await expect.poll(areShown).toBe(true);
    const queued = await range(session, "message=hello&messages=last:0", "/api/chat", "POST");
    expect(queued.messages.map(({ sender, status }) => `${sender} ${status}`)).toEqual([
      "agent streaming",
      "user queued",
    ]);
    expect(queued.messages_before).toBe(3);
    const body = { message: "hello again", messages: "last:1" };
    const second = await send(url(), "POST", "/api/chat", { session, json: body });
    expect(expectSnapshot(second, session).messages).toHaveLength(3);
    const stopped = await range(session, "messages=last:1", "/api/interrupt", "POST");
    expect(stopped.messages.map(({ content, status }) => `${content} ${status}`)).toEqual([
      "hello again interrupted",
    ]);
    expect(stopped.messages_before).toBe(5);
  });

  it("supports `Prefer: wait`", async () => {
    const session = newSession();
    const asked = await send(url(), "POST", "/api/chat?message=what+is+12+*+7&messages=last:1", {
      session,
      headers: { Prefer: "wait=30" },
    });
    expect(expectSnapshot(asked, session)).toMatchObject({
      messages: [{ sender: "agent", content: "12 * 7 = 84." }],
      messages_before: 1,
      is_processing: false,
    });
    await chat(url(), session, "count to 20");
    const answer = await send(url(), "GET", "/api/state?messages=last:1", {
      session,
      headers: { Prefer: "wait=30" },
    });
    expect(expectSnapshot(answer, session)).toMatchObject({ is_processing: false, messages_before: 3 });
  });
});

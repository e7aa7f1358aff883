import { randomUUID } from "node:crypto";
import { createClient } from "@colloquy/client";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type ProtocolService, startProtocolService, withAskingTools } from "../protocol-service.ts";
import { AgentApiError, AgentSession } from "./agent-session.ts";

let service: ProtocolService;
beforeEach(async () => {
  service = await startProtocolService({ adjust: withAskingTools });
});
afterEach(() => service.close());
const open = (sessionId: string = randomUUID()) => new AgentSession(service.url, { sessionId });
const native = () => createClient({ baseUrl: service.url });

async function failureOf(request: Promise<unknown>): Promise<AgentApiError> {
  const error: unknown = await request.catch((thrown: unknown) => thrown);
  if (!(error instanceof AgentApiError)) throw new Error("The request did not fail.");
  return error;
}

/** Sends a message, and lets the model answer it. */
async function ask(session: AgentSession, message: string, answer: string): Promise<void> {
  await session.start(message);
  (await service.model.next()).say(answer).finish();
  await session.follow();
}

describe("a turn", () => {
  it("begins with its message and `processing`, is streamed, and ends with the title", async () => {
    const session = open();
    const page = await session.start("hello", { userState: { evm: { address: "0xabc", chain_id: 1 } } });
    expect(session.types).toEqual(["user", "processing"]);
    expect(page.has_more).toBe(false);
    const followed = session.follow();
    const call = await service.model.next();
    call.say("Hi ");
    await expect
      .poll(() => [...session.live.values()].map(({ message }) => message.content))
      .toEqual(["Hi "]);
    call.say("there.").finish();
    await followed;
    expect(session.types).toEqual(["user", "processing", "agent", "title_changed", "complete"]);
    expect(session.messages).toEqual([
      ["user", "hello"],
      ["agent", "Hi there."],
    ]);
    expect(session.live.size).toBe(0);
    const { user_state: state, messages } = await native().getState(session.sessionId);
    expect(state).toMatchObject({ evm: { address: "0xabc" } });
    expect(messages).toMatchObject([{ content: "hello" }, { content: "Hi there." }]);
  });

  it("is refused with 409 `busy` while another one is in progress, and repeated by its key", async () => {
    const session = open();
    const key = randomUUID();
    await session.start("one", {}, key);
    const call = await service.model.next();
    const refused = await failureOf(session.start("two"));
    expect([refused.status, refused.code]).toEqual([409, "busy"]);
    await session.start("one", {}, key);
    call.say("First.").finish();
    await session.follow();
    expect(session.messages).toHaveLength(2);
    await ask(session, "two", "Second.");
    expect(session.messages.map(([, content]) => content)).toEqual(["one", "First.", "two", "Second."]);
  });

  it("is refused if another one is accepted at the same time", async () => {
    const id = randomUUID();
    const both = await Promise.allSettled(["one", "two"].map((text) => open(id).start(text)));
    const refused = both.flatMap((start) =>
      start.status === "rejected" ? [start.reason as AgentApiError] : [],
    );
    expect(refused.map(({ code }) => code)).toEqual(["busy"]);
    const { events } = await open(id).poll(0);
    expect(events.filter(({ type }) => type === "message")).toHaveLength(1);
  });

  it("sends the page after the cursor of its request, and all events for an expired one", async () => {
    const session = open();
    await ask(session, "one", "First.");
    const { events } = await session.start("two");
    expect(events.map(({ content }) => content)).toEqual(["two", undefined]);
    (await service.model.next()).say("Second.").finish();
    await session.follow();
    const page = await session.start("three", { cursor: "gone-7" });
    expect(page.events).toHaveLength(12);
    (await service.model.next()).finish();
  });

  it("chooses the session id if the request has none", async () => {
    const response = await fetch(`${service.url}/v1/agent/chat`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ sessionId: null, message: "hello" }),
    });
    const page = (await response.json()) as { session_id: string };
    expect(response.status).toBe(200);
    expect((await native().getState(page.session_id)).messages[0]).toMatchObject({ content: "hello" });
    (await service.model.next()).finish();
  });

  it("is refused with a key but without a session id, which would begin a session at each repeat", async () => {
    const response = await fetch(`${service.url}/v1/agent/chat`, {
      method: "POST",
      headers: { "content-type": "application/json", "idempotency-key": randomUUID() },
      body: JSON.stringify({ message: "hello" }),
    });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      error: { code: "session_id_missing", message: expect.stringContaining("sessionId") },
    });
    expect(await service.sessions()).toEqual([]);
  });

  it("follows one without an answer, of another protocol", async () => {
    const conversation = await fetch(`${service.url}/v1/conversations`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ items: [{ type: "message", role: "user", content: "only user" }] }),
    });
    const { id } = (await conversation.json()) as { readonly id: string };
    const session = open(id.replace("conv_", ""));
    await session.start("what is 12 * 7?");
    const followed = session.follow(() => session.messages.some(([, content]) => content === "84"));
    (await service.model.next()).say("84").finish();
    await followed;
    await session.poll();
    expect(session.types).toEqual([
      "user",
      "processing",
      "title_changed",
      "complete",
      "user",
      "processing",
      "agent",
      "title_changed",
      "complete",
    ]);
    const late = open(session.sessionId);
    await late.poll();
    expect(late.events).toEqual(session.events);
  });

  it("ends with the error of the model", async () => {
    const session = open();
    await session.start("hello");
    (await service.model.next()).fail(new Error("no"));
    await session.follow();
    expect(session.types).toEqual(["user", "processing", "error", "title_changed", "failed"]);
    const { system_events: events } = await native().getState(session.sessionId);
    const reason = events.find(({ type }) => type === "error")?.payload["message"];
    expect(session.events.find(({ type }) => type === "error")).toMatchObject({ message: reason });
  });
});

describe("events", () => {
  it("have the same ids in the same order after each step, and when they are read again", async () => {
    const session = open();
    await session.start("calculate");
    const first = await service.model.next();
    first.say("Let me see.").callTool("calculator", { expression: "6*7" }, "call_0").finish("tool-calls");
    await session.follow(() => session.types.includes("notice"));
    expect(session.types).toEqual(["user", "processing", "agent", "notice"]);
    const { pending_actions: pending } = await native().getState(session.sessionId);
    await native().decideAction(session.sessionId, pending[0]!.id, { decision: "approve" });
    (await service.model.next()).say("It is 42.").finish();
    await session.follow();
    expect(session.types).toEqual([
      "user",
      "processing",
      "agent",
      "notice",
      "tool_complete",
      "agent",
      "title_changed",
      "complete",
    ]);
    expect(session.events.find(({ type }) => type === "tool_complete")).toMatchObject({
      tool_name: "calculator",
      call_id: "call_0",
      result: expect.anything(),
    });
    expect(session.messages.at(-1)).toEqual(["agent", "It is 42."]);
    const late = open(session.sessionId);
    await late.poll();
    expect(late.events).toEqual(session.events);
    expect(late.cursor).toBe(session.cursor);
    const streamed = open(session.sessionId);
    await streamed.follow();
    expect(streamed.events).toEqual(session.events);
  });

  it("are polled with a cursor, and awaited", async () => {
    const session = open();
    await session.start("hello");
    expect((await session.poll(50)).events).toEqual([]);
    const waiting = session.poll(20_000);
    (await service.model.next()).say("Hi.").finish();
    const { events } = await waiting;
    expect(events.at(0)).toMatchObject({ content: "Hi." });
    await session.poll();
    expect(session.types).toEqual(["user", "processing", "agent", "title_changed", "complete"]);
  });

  it("are awaited until the conversation is deleted, and answer 404 then", async () => {
    const session = open();
    await ask(session, "hello", "Hi.");
    const waiting = failureOf(session.poll(20_000));
    const metrics = async () => await (await fetch(`${service.url}/metrics`)).text();
    await expect.poll(metrics).toMatch(/^colloquy_streams_open 1$/m);
    await native().deleteThread(session.sessionId);
    const { status, code } = await waiting;
    expect([status, code]).toEqual([404, "session_deleted"]);
  });

  it("come in pages, with more to come", async () => {
    const session = open();
    const text = "a";
    for (let turn = 0; turn < 3; turn += 1) await ask(session, `m${turn}`, text);
    const late = open(session.sessionId);
    await late.poll();
    expect(late.events.map(({ sequence }) => sequence)).toEqual(
      late.events.map(({ sequence }) => sequence).toSorted((left, right) => left - right),
    );
    const middle = session.events[6]!.event_id;
    const { events } = await open(session.sessionId).poll(0, middle);
    expect(events).toEqual(session.events.slice(7));
  });

  it("answer 400 for a malformed cursor, and 410 for one of a deleted conversation", async () => {
    const session = open();
    await ask(session, "one", "First.");
    const malformed = await failureOf(session.poll(0, "cursor-1-x"));
    expect([malformed.status, malformed.code]).toEqual([400, "invalid_cursor"]);
    const refused = await failureOf(session.start("again", { cursor: "cursor-1-x" }));
    expect([refused.status, refused.code]).toEqual([400, "invalid_cursor"]);
    await native().deleteThread(session.sessionId);
    const again = open(session.sessionId);
    await ask(again, "two", "Second.");
    const expired = await failureOf(again.poll(0, session.cursor));
    expect([expired.status, expired.code]).toEqual([410, "cursor_expired"]);
    expect((await failureOf(open(session.sessionId).poll(0, session.cursor))).status).toBe(410);
  });

  it("of a steered turn and of messages of other clients stay in order", async () => {
    const session = open();
    await session.start("one");
    const followed = session.follow(() => session.messages.length === 4 && session.isTerminal);
    const call = await service.model.next();
    call.say("First ");
    await native().sendMessage(session.sessionId, "queued");
    call.say("answer.").finish();
    (await service.model.next()).say("Second.").finish();
    await followed;
    expect(session.messages.map(([, content]) => content)).toEqual([
      "one",
      "First answer.",
      "queued",
      "Second.",
    ]);
    expect(new Set(session.events.map(({ turn_id: id }) => id)).size).toBe(2);
  });

  it("are followed by a resync if another client replaces a message", async () => {
    const session = open();
    await ask(session, "one", "First.");
    await ask(session, "two", "Second.");
    const followed = session.follow(() => session.frames.resync === 1);
    const { messages } = await native().getState(session.sessionId);
    await native().sendMessage(session.sessionId, "another two", { replaces: messages[2]!.id });
    await followed;
    expect(session.frames.resync).toBe(1);
    (await service.model.next()).say("Another second.").finish();
    await session.follow(() => session.messages.some(([, content]) => content === "Another second."));
    const late = open(session.sessionId);
    await late.poll();
    expect(late.messages.map(([, content]) => content)).toEqual([
      "one",
      "First.",
      "another two",
      "Another second.",
    ]);
  });
});

describe("text in progress", () => {
  it("is sent to a client that connects in the middle", async () => {
    const session = open();
    await session.start("hello");
    const call = await service.model.next();
    call.say("Half ");
    await expect
      .poll(async () => (await native().getState(session.sessionId)).messages.at(-1)?.content)
      .toBe("Half ");
    const late = open(session.sessionId);
    const followed = late.follow();
    await expect.poll(() => [...late.live.values()].map(({ message }) => message.content)).toEqual(["Half "]);
    call.say("done.").finish();
    await followed;
    expect(late.messages.at(-1)).toEqual(["agent", "Half done."]);
  });
});

describe("an interrupt", () => {
  it("stops its turn, and answers with the state `interrupted`", async () => {
    const session = open();
    await session.start("hello");
    const call = await service.model.next();
    call.say("Partial");
    await expect
      .poll(async () => (await native().getState(session.sessionId)).messages.at(-1)?.content)
      .toBe("Partial");
    await session.interrupt();
    expect(session.types).toEqual(["user", "processing", "agent", "title_changed", "interrupted"]);
    expect(session.messages.at(-1)).toEqual(["agent", "Partial"]);
    await session.interrupt();
    expect(session.types).toHaveLength(5);
  });

  it("of an earlier turn does not stop the one in progress", async () => {
    const session = open();
    await ask(session, "one", "First.");
    const earlier = session.turnId;
    await session.start("two");
    const call = await service.model.next();
    await session.interrupt(earlier);
    expect((await native().getState(session.sessionId)).is_processing).toBe(true);
    call.say("Second.").finish();
    await session.follow();
    expect(session.messages.at(-1)).toEqual(["agent", "Second."]);
  });

  it("of a queued turn is refused, and does not stop the one in progress", async () => {
    const session = open();
    await session.start("one");
    const call = await service.model.next();
    await native().sendMessage(session.sessionId, "two");
    const queued = session.turnId!.replace(/\d+$/, (turn) => `${Number(turn) + 1}`);
    const refused = await failureOf(session.interrupt(queued));
    expect([refused.status, refused.code]).toEqual([409, "turn_queued"]);
    call.say("First.").finish();
    (await service.model.next()).say("Second.").finish();
    await session.follow(() => session.messages.length === 4);
    expect(session.messages.map(([, content]) => content)).toEqual(["one", "First.", "two", "Second."]);
  });

  it("answers 404 for an unknown turn", async () => {
    const session = open();
    await ask(session, "one", "First.");
    for (const turn of ["turn-1", `${session.turnId}0`, "turn-other-1"]) {
      const refused = await failureOf(session.interrupt(turn));
      expect([refused.status, refused.code]).toEqual([404, "turn_not_found"]);
    }
  });
});

describe("sessions", () => {
  it("are read, renamed, archived, taken out of the archive and deleted", async () => {
    const session = open();
    await ask(session, "hello", "Hi.");
    const path = `/${session.sessionId}`;
    expect(await session.sessions("GET", path)).toMatchObject({ id: session.sessionId, archived: false });
    const renamed = await session.sessions("PATCH", path, { title: "  Tea  " });
    expect(renamed).toEqual({
      id: session.sessionId,
      title: "Tea",
      updatedAt: expect.any(Number),
      archived: false,
    });
    expect(await session.sessions("PATCH", path, { archived: true })).toMatchObject({ archived: true });
    expect(await native().getSession(session.sessionId)).toMatchObject({ title: "Tea", is_archived: true });
    expect(await session.sessions("PATCH", path, { archived: false })).toMatchObject({ archived: false });
    expect(await session.sessions("DELETE", path)).toBeUndefined();
    expect((await failureOf(session.sessions("GET", path))).status).toBe(404);
    expect((await failureOf(session.poll())).status).toBe(404);
  });

  it("are none for a caller without a user", async () => {
    const session = open();
    await ask(session, "hello", "Hi.");
    expect(await session.sessions("GET", "?limit=100")).toEqual({ sessions: [], nextCursor: null });
  });
});

describe("errors", () => {
  it("have the format of the API, with the service's code and request id", async () => {
    const response = await fetch(`${service.url}/v1/agent/chat`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-request-id": "request-1" },
      body: JSON.stringify({ sessionId: randomUUID(), message: " " }),
    });
    expect(response.status).toBe(400);
    expect(response.headers.get("x-request-id")).toBe("request-1");
    expect(await response.json()).toEqual({
      error: {
        code: "message_blank",
        message: expect.any(String),
        requestId: "request-1",
        details: { code: "message_blank", status: 400 },
      },
    });
  });

  it.each([
    ["a session id that is no UUID", { sessionId: "session-1", message: "hello" }],
    ["an application id", { sessionId: randomUUID(), message: "hello", applicationId: 42 }],
    ["another mode", { sessionId: randomUUID(), message: "hello", mode: "manual" }],
    ["no message", { sessionId: randomUUID() }],
  ])("refuse %s", async (_what, body) => {
    const response = await fetch(`${service.url}/v1/agent/chat`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { message: expect.any(String) } });
  });
});

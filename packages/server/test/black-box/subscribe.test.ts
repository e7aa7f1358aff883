import { describe, expect, it } from "vitest";
import { chat, expectProblem, newSession, open, send, whenIdle, state } from "./client.ts";
import { EventReader } from "./event-reader.ts";
import { fold } from "./reference-fold.ts";
import { useService } from "./server.ts";

const url = useService();
const EVERYTHING = "tools,messages,state";
const SPECIFIED = ["title_changed", "tool_update", "tool_complete", "system_notice"];

/** Returns a session whose first turn is complete, including its title event. */
async function conversation(message: string): Promise<{ session: string; whole: EventReader }> {
  const session = newSession();
  const whole = await EventReader.connect(url(), session, { include: EVERYTHING });
  await chat(url(), session, message);
  await whenIdle(url(), session);
  await whole.find(({ type }) => type === "title_changed");
  await whole.find((event) => event.type === "state_changed" && event.status === "idle");
  return { session, whole };
}

/** Resolves once the stream has reached the end of the session's log. */
async function caughtUp(reader: EventReader, session: string): Promise<void> {
  const { last_event_id } = await state(url(), session);
  await reader.until(() => reader.lastEventId === last_event_id);
}

describe("GET /api/updates", () => {
  it("starts with a retry line", async () => {
    const reader = await EventReader.connect(url(), newSession());
    await reader.until(() => reader.other.length > 0);
    expect(reader.other[0]).toBe("retry: 2000");
    reader.leave();
  });

  it("streams reasoning to those who ask, as the records have it afterwards", async () => {
    const session = newSession();
    const reader = await EventReader.connect(url(), session, { include: "reasoning" });
    const without = await EventReader.connect(url(), session, { include: EVERYTHING });
    await chat(url(), session, "think about tea");
    await whenIdle(url(), session);
    await caughtUp(without, session);
    const pieces = () =>
      reader.events.flatMap(({ event }) => (event.type === "reasoning_delta" ? [event] : []));
    const text = () =>
      pieces()
        .map((piece) => piece.text)
        .join("");
    const answer = await send(url(), "GET", `/api/sessions/${session}/messages?include=reasoning`);
    const [, record] = answer.json() as { id: string; reasoning?: unknown }[];
    await expect.poll(() => [{ step: 1, text: text() }]).toEqual(record?.reasoning);
    expect(pieces().length).toBeGreaterThan(5);
    expect(new Set(pieces().map(({ message_id }) => message_id))).toEqual(new Set([record?.id]));
    expect(without.events.map(({ event }) => event.type)).not.toContain("reasoning_delta");
    reader.leave();
    without.leave();
  });

  it("creates the session", async () => {
    const session = newSession();
    const reader = await EventReader.connect(url(), session);
    expect((await send(url(), "GET", `/api/sessions/${session}`)).status).toBe(200);
    reader.leave();
  });

  it("sends by default only the four specified types, with exactly the specified fields", async () => {
    const session = newSession();
    const reader = await EventReader.connect(url(), session);
    await chat(url(), session, "what is 12 * 7?");
    await reader.find(({ type }) => type === "title_changed");
    await reader.find(({ type }) => type === "tool_complete");
    await whenIdle(url(), session);
    reader.leave();
    for (const { id, event } of reader.events) {
      expect(id).toMatch(/^[0-9a-z]+-\d+$/);
      expect(SPECIFIED).toContain(event.type);
      const fields = { title_changed: ["new_title"], system_notice: ["code", "level", "message"] }[
        event.type as string
      ];
      expect(Object.keys(event).toSorted()).toEqual(["session_id", "type", ...(fields ?? [])].toSorted());
    }
  });

  it("sends further groups on request", async () => {
    const { session, whole } = await conversation("what is 12 * 7?");
    whole.leave();
    const tool = { session_id: session, call_id: expect.any(String), name: "calculator" };
    expect((await whole.find(({ type }) => type === "tool_complete")).event).toMatchObject({
      ...tool,
      status: "complete",
      arguments: { expression: "12 * 7" },
      result: { is_error: false, duration_ms: expect.any(Number) },
    });
    const types = new Set(whole.events.map(({ event }) => event.type));
    for (const type of ["message_created", "message_completed", "state_changed"]) {
      expect(types).toContain(type);
    }
    for (const { id, event } of whole.events) expect(id === null).toBe(event.type === "message_delta");
  });

  it("sends text while it is written", async () => {
    const session = newSession();
    const reader = await EventReader.connect(url(), session, { include: "messages" });
    // Long enough to be in progress when a slow stream has sent the events before it.
    await chat(url(), session, "count to 100");
    const { id, event } = await reader.find(({ type }) => type === "message_delta");
    expect(id).toBeNull();
    expect(event).toMatchObject({ session_id: session, text: expect.stringMatching(/\d/) });
    reader.leave();
    await send(url(), "POST", "/api/interrupt", { session });
  });

  it.each([
    ["tools", ["tool_complete"]],
    ["messages", ["message_created", "message_updated", "message_completed", "message_delta"]],
    ["state", ["state_changed", "system_event"]],
  ])("include=%s adds no other group", async (include, group) => {
    const session = newSession();
    const reader = await EventReader.connect(url(), session, { include });
    await chat(url(), session, "what is 12 * 7?");
    await whenIdle(url(), session);
    await reader.find(({ type }) => type === "tool_complete");
    await reader.find(({ type }) => group.includes(type));
    reader.leave();
    const allowed = new Set([...SPECIFIED, ...group]);
    for (const { event } of reader.events) expect(allowed).toContain(event.type);
    const detailed = reader.events.some(({ event }) => event.type === "tool_complete" && "call_id" in event);
    expect(detailed).toBe(include === "tools");
  });

  it("numbers events without gaps, in order", async () => {
    const { whole } = await conversation("what is 12 * 7?");
    whole.leave();
    const numbers = whole.events.flatMap(({ id }) => (id === null ? [] : [Number(id.split("-")[1])]));
    expect(numbers).toEqual(numbers.map((_, index) => numbers[0]! + index));
    expect(new Set(whole.events.flatMap(({ id }) => id?.split("-")[0] ?? [])).size).toBe(1);
  });

  it("sends the same events to every subscriber", async () => {
    const session = newSession();
    const readers = await Promise.all(
      Array.from({ length: 5 }, () => EventReader.connect(url(), session, { include: EVERYTHING })),
    );
    await chat(url(), session, "what is 12 * 7?");
    await whenIdle(url(), session);
    await readers[0]?.find(({ type }) => type === "title_changed");
    for (const reader of readers) await caughtUp(reader, session);
    const numbered = readers.map((reader) => reader.events.filter(({ id }) => id !== null));
    for (const other of numbered) expect(other).toEqual(numbered[0]);
    for (const reader of readers) reader.leave();
  });
});

describe("Last-Event-ID", () => {
  it("replays later events, from every position of the log", async () => {
    const { session, whole } = await conversation("what is 12 * 7?");
    whole.leave();
    const log = whole.events.filter(({ id }) => id !== null);
    const [incarnation] = log[0]!.id!.split("-");
    const places = ["0", `${incarnation}-0`, ...log.map(({ id }) => id!)];
    for (const lastEventId of places) {
      const reader = await EventReader.connect(url(), session, { include: EVERYTHING, lastEventId });
      const after = Number(lastEventId.split("-").at(-1));
      const missing = log.filter(({ id }) => Number(id?.split("-")[1]) > after);
      await reader.until(() => reader.events.length >= missing.length);
      expect(reader.events).toEqual(missing);
      reader.leave();
    }
  });

  it("may be in the query", async () => {
    const { session, whole } = await conversation("hello");
    whole.leave();
    const message = await open(url(), "GET", "/api/updates?last_event_id=0", {
      session,
      headers: { Accept: "text/event-stream" },
    });
    message.setEncoding("utf8");
    let text = "";
    for await (const part of message) {
      text += part as string;
      if (text.includes("title_changed")) break;
    }
    expect(text).toContain("title_changed");
  });

  it("starts with new events if absent", async () => {
    const { session, whole } = await conversation("hello");
    whole.leave();
    const reader = await EventReader.connect(url(), session, { include: EVERYTHING });
    await send(url(), "PATCH", `/api/sessions/${session}`, { json: { title: "Later" } });
    await reader.until(() => reader.events.length > 0);
    expect(reader.events[0]?.event).toMatchObject({ type: "title_changed", new_title: "Later" });
    reader.leave();
  });

  it.each(["nonsense", "otherlife-1", "-1"])("asks for a new snapshot if it is %j", async (lastEventId) => {
    const session = newSession();
    const { last_event_id } = await chat(url(), session, "hello");
    await whenIdle(url(), session);
    const reader = await EventReader.connect(url(), session, { lastEventId });
    await reader.until(() => reader.events.length > 0);
    const first = reader.events[0]!;
    expect(first.event).toMatchObject({ type: "system_notice", code: "resync" });
    expect(first.id?.split("-")[0]).toBe(last_event_id.split("-")[0]);
    reader.leave();
  });

  it("asks for a new snapshot if it is of an earlier incarnation", async () => {
    const session = newSession();
    const before = await chat(url(), session, "hello");
    await send(url(), "DELETE", `/api/sessions/${session}`);
    await send(url(), "POST", "/api/sessions", { session });
    const reader = await EventReader.connect(url(), session, { lastEventId: before.last_event_id });
    await reader.until(() => reader.events.length > 0);
    const now = await state(url(), session);
    expect(reader.events[0]).toMatchObject({ id: now.last_event_id, event: { code: "resync" } });
    reader.leave();
  });
});

describe("the fold", () => {
  it("yields the next snapshot from a snapshot and the events after it, whenever a client subscribes", async () => {
    const session = newSession();
    const start = await state(url(), session);
    const readers: { reader: EventReader; from: typeof start }[] = [];
    const join = async () => {
      const from = await state(url(), session);
      const lastEventId = from.last_event_id;
      readers.push({
        reader: await EventReader.connect(url(), session, { include: EVERYTHING, lastEventId }),
        from,
      });
    };
    await join();
    await chat(url(), session, "count to 25");
    await join();
    await chat(url(), session, "what is 12 * 7?");
    for (let count = 0; count < 6; count += 1) {
      await join();
      await new Promise((resolve) => setTimeout(resolve, 110));
    }
    const query = new URLSearchParams({ user_state: '{"evm":{"chain_id":1}}' });
    await send(url(), "GET", `/api/state?${query.toString()}`, { session });
    await send(url(), "PATCH", `/api/sessions/${session}`, { json: { title: "Folded" } });
    await chat(url(), session, "count to 400");
    await settledOrInterrupted(session);
    const end = await state(url(), session);
    for (const { reader, from } of readers) {
      await reader.until(() => reader.lastEventId === end.last_event_id);
      expect(fold(from, reader.events)).toEqual(end);
      reader.leave();
    }
    expect(start.messages).toEqual([]);
  });

  it("holds for a subscriber that disconnects and resumes", async () => {
    const session = newSession();
    let snapshot = await state(url(), session);
    await chat(url(), session, "count to 60");
    for (let drop = 0; drop < 5; drop += 1) {
      const lastEventId = snapshot.last_event_id;
      const reader = await EventReader.connect(url(), session, { include: EVERYTHING, lastEventId });
      const seen = 3 + drop;
      const isOver = () =>
        reader.events.some(({ event }) => event.type === "state_changed" && event.status === "idle");
      await reader.until(() => reader.events.length >= seen || isOver());
      reader.leave();
      snapshot = fold(snapshot, reader.events);
      if (!snapshot.is_processing) break;
    }
    const end = await whenIdle(url(), session);
    const lastEventId = snapshot.last_event_id;
    const reader = await EventReader.connect(url(), session, { include: EVERYTHING, lastEventId });
    const final = await state(url(), session);
    await reader.until(() => reader.lastEventId === final.last_event_id);
    expect(fold(snapshot, reader.events)).toEqual(final);
    expect(end.messages[1]?.content).toMatch(/ 59 60$/);
    reader.leave();
  });
});

/** Waits until only the long count is running, and interrupts it. */
async function settledOrInterrupted(session: string): Promise<void> {
  await expect.poll(async () => (await state(url(), session)).messages.at(-1)?.content).toMatch(/^1 2 3/);
  await send(url(), "POST", "/api/interrupt", { session });
}

describe("GET /api/updates rejects", () => {
  it("a request without Accept with 400, and one that excludes text/event-stream with 406", async () => {
    const session = newSession();
    expectProblem(await send(url(), "GET", "/api/updates", { session }), 400);
    for (const accept of ["application/json", "text/event-stream;q=0", "text/*;q=0, */*"]) {
      const headers = { Accept: accept };
      expectProblem(await send(url(), "GET", "/api/updates", { session, headers }), 406);
    }
    expectProblem(await send(url(), "GET", `/api/sessions/${session}`), 404);
  });

  it.each(["*/*", "text/*", "application/json;q=0.9, text/event-stream;q=0.1"])(
    "no valid Accept header: %s",
    async (accept) => {
      const message = await open(url(), "GET", "/api/updates", {
        session: newSession(),
        headers: { Accept: accept },
      });
      expect(message.statusCode).toBe(200);
      message.destroy();
    },
  );

  it("an unknown group with 400", async () => {
    const headers = { Accept: "text/event-stream" };
    const answer = await send(url(), "GET", "/api/updates?include=everything", {
      session: newSession(),
      headers,
    });
    expectProblem(answer, 400);
  });

  it("a session id in the query only with 400", async () => {
    const headers = { Accept: "text/event-stream" };
    const path = `/api/updates?session_id=${newSession()}`;
    expectProblem(await send(url(), "GET", path, { headers }), 400, "session_id_missing");
  });
});

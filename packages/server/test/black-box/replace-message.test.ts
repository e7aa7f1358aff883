// Editing and regenerating: `replaces` of a chat.

import { describe, expect, it } from "vitest";
import { chat, expectProblem, expectSnapshot, newSession, send, state, thread, whenIdle } from "./client.ts";
import { EventReader } from "./event-reader.ts";
import { fold } from "./reference-fold.ts";
import { useService } from "./server.ts";

const url = useService();

function replace(session: string, replaces: string, message: string, headers = {}, more = {}) {
  return send(url(), "POST", "/api/chat", { session, headers, json: { message, replaces, ...more } });
}

/** Sends messages one after the other. Returns the snapshot with their answers. */
async function answered(session: string, ...texts: string[]) {
  for (const text of texts) {
    await chat(url(), session, text);
    await whenIdle(url(), session);
  }
  return await state(url(), session);
}

describe("POST /api/chat with replaces", () => {
  it("replaces a message and everything after it, and answers as if they had never existed", async () => {
    const session = newSession();
    const { messages } = await answered(session, "hello", "what is 1 + 1?", "what is 2 + 2?");
    const id = messages[2]?.id ?? "";
    expectSnapshot(await replace(session, id.toUpperCase(), "what is 3 + 4?"), session);
    const done = await whenIdle(url(), session);
    expect(done.messages.slice(0, 2)).toEqual(messages.slice(0, 2));
    expect(done.messages.map(({ content }) => content).slice(2)).toEqual([
      "what is 3 + 4?",
      expect.stringContaining("7"),
    ]);
    expect(done.messages[2]?.id).not.toBe(id);
    const records = await send(url(), "GET", `/api/sessions/${session}/messages`);
    expect(records.text).not.toContain("2 + 2");
  });

  it("regenerates with the same text, and stops the answer in progress", async () => {
    const session = newSession();
    const { messages } = await chat(url(), session, "count to 500");
    await chat(url(), session, "hello");
    await expect.poll(async () => (await state(url(), session)).messages[1]?.content).toContain("3");
    const after = expectSnapshot(await replace(session, messages[0]?.id ?? "", "what is 2 + 2?"), session);
    expect(after).toMatchObject({ is_processing: true, messages: [{ content: "what is 2 + 2?" }] });
    const done = await whenIdle(url(), session);
    expect(done.messages).toHaveLength(2);
    expect(done.messages[1]).toMatchObject({ status: "complete", content: expect.stringContaining("4") });
    expect(done.status).toBe("idle");
  });

  it("sends messages_removed to subscribers with messages, and resync to others", async () => {
    const session = newSession();
    const { messages } = await answered(session, "hello", "what is 1 + 1?");
    const before = await state(url(), session);
    const all = await EventReader.connect(url(), session, {
      include: "tools,messages,state",
      lastEventId: before.last_event_id,
    });
    const plain = await EventReader.connect(url(), session, { lastEventId: before.last_event_id });
    await replace(session, messages[2]?.id ?? "", "what is 2 + 2?");
    const done = await whenIdle(url(), session);
    await all.until(() => all.events.at(-1)?.id === done.last_event_id);
    expect(all.events[0]?.event).toMatchObject({ type: "messages_removed", from: messages[2]?.id });
    expect(fold(before, all.events)).toEqual(done);
    await plain.until(() => plain.events.length > 0);
    expect(plain.events[0]?.event).toMatchObject({ type: "system_notice", code: "resync" });
    const late = await EventReader.connect(url(), session, {
      include: "messages",
      lastEventId: before.last_event_id.replace(/\d+$/, "1"),
    });
    await late.until(() => late.events.length > 0);
    expect(late.events[0]).toMatchObject({ id: done.last_event_id, event: { code: "resync" } });
  });

  it("returns the same answer when repeated with its key, and 404 without", async () => {
    const session = newSession();
    const { messages } = await answered(session, "hello");
    const id = messages[0]?.id ?? "";
    const headers = { "Idempotency-Key": "key-1" };
    expectSnapshot(await replace(session, id, "what is 2 + 2?", headers), session);
    const done = await whenIdle(url(), session);
    const again = expectSnapshot(await replace(session, id, "what is 2 + 2?", headers), session);
    expect(again.messages).toEqual(done.messages);
    expect(again.messages[0]).toMatchObject({ content: "what is 2 + 2?", turn: 2 });
    expectProblem(await replace(session, id, "what is 2 + 2?"), 404, "message_not_found");
    expectProblem(
      await send(url(), "POST", "/api/chat?message=what+is+2+%2B+2%3F", { session, headers }),
      409,
      "idempotency_key_reused",
    );
  });

  it("keeps a chosen title", async () => {
    const session = newSession();
    const { messages } = await answered(session, "hello");
    await send(url(), "PATCH", `/api/sessions/${session}`, { json: { title: "Chosen" } });
    await replace(session, messages[0]?.id ?? "", "what is 2 + 2?");
    await whenIdle(url(), session);
    expect((await thread(url(), session)).title).toBe("Chosen");
  });

  it("rejects an answer, an invalid id or model with 400, and an unknown message with 404", async () => {
    const session = newSession();
    const { messages } = await answered(session, "hello");
    expectProblem(await replace(session, messages[1]?.id ?? "", "again"), 400, "not_a_user_message");
    expectProblem(await replace(session, newSession(), "again"), 404, "message_not_found");
    expectProblem(await replace(session, "x", "again"), 400, "parameter_invalid");
    const rig = { rig: "other/model" };
    expectProblem(await replace(session, messages[0]?.id ?? "", "again", {}, rig), 400, "unknown_model");
    const other = newSession();
    expectProblem(await replace(other, messages[0]?.id ?? "", "again"), 404, "message_not_found");
    expectProblem(await send(url(), "GET", `/api/sessions/${other}`), 404);
    const { messages: others } = await answered(other, "what is 1 + 1?");
    expectProblem(await replace(session, others[0]?.id ?? "", "again"), 404, "message_not_found");
    expect((await state(url(), other)).messages).toEqual(others);
    expect((await state(url(), session)).messages).toEqual(messages);
  });
});

// Copies of conversations. `npm run test:nodes` runs this on three nodes too.

import { describe, expect, it } from "vitest";
import { chat, expectProblem, newSession, newWallet, send, state, thread, whenIdle } from "./client.ts";
import { EventReader } from "./event-reader.ts";
import { fold } from "./reference-fold.ts";
import { useService } from "./server.ts";

const url = useService();

function fork(session: string, to: string, through?: string, call = {}) {
  const json = { session_id: to, ...(through !== undefined && { through_message_id: through }) };
  return send(url(), "POST", `/api/sessions/${session}/fork`, { json, ...call });
}

/** Sends messages one after the other. Returns the snapshot with their answers. */
async function answered(session: string, ...texts: string[]) {
  for (const text of texts) {
    await chat(url(), session, text);
    await whenIdle(url(), session);
  }
  return await state(url(), session);
}

const contents = ({ messages }: { readonly messages: readonly { readonly content: string }[] }) =>
  messages.map(({ content }) => content);

describe("POST /api/sessions/{id}/fork", () => {
  it("copies a conversation, which then continues independently", async () => {
    const origin = newSession();
    const wallet = newWallet();
    await send(url(), "POST", "/api/sessions", { session: origin, json: { public_key: wallet } });
    const before = await answered(origin, "what is 1 + 1?", "what is 2 + 2?");
    await send(url(), "PATCH", `/api/sessions/${origin}`, { json: { title: "Sums" } });
    const copy = newSession().toUpperCase();
    const answer = await fork(origin, copy);
    expect(answer.status).toBe(200);
    expect(answer.json()).toMatchObject({ session_id: copy, title: "Sums", app: "default", pinned: false });
    const copied = await state(url(), copy);
    expect(contents(copied)).toEqual(contents(before));
    expect(copied.messages.map(({ created_at }) => created_at)).toEqual(
      before.messages.map(({ created_at }) => created_at),
    );
    expect(copied).toMatchObject({
      session_id: copy,
      status: "idle",
      is_processing: false,
      pending_actions: [],
    });
    const listed = await send(url(), "GET", `/api/sessions?public_key=${wallet}`, { session: newSession() });
    expect((listed.json() as { session_id: string }[]).map(({ session_id }) => session_id)).toContain(copy);
    await answered(copy, "what is 3 + 3?");
    expect((await state(url(), copy)).messages).toHaveLength(6);
    expect((await state(url(), origin)).messages).toEqual(before.messages);
    const records = await send(url(), "GET", `/api/sessions/${copy}/messages`);
    expect(records.json()).toHaveLength(6);
  });

  it("ends with the whole turn of a message, while the next one runs", async () => {
    const origin = newSession();
    const { messages } = await answered(origin, "what is 1 + 1?", "what is 2 + 2?");
    await chat(url(), origin, "count to 300");
    const question = (await state(url(), origin)).messages[4]?.id ?? "";
    for (const [through, count] of [
      [messages[0]?.id, 2],
      [messages[3]?.id.toUpperCase(), 4],
      [undefined, 4],
    ] as const) {
      const copy = newSession();
      expect((await fork(origin, copy, through)).status).toBe(200);
      expect(contents(await state(url(), copy))).toEqual(contents({ messages: messages.slice(0, count) }));
    }
    const refused = newSession();
    expectProblem(await fork(origin, refused, question), 409, "turn_not_finished");
    expect((await state(url(), origin)).is_processing).toBe(true);
    await send(url(), "POST", "/api/interrupt", { session: origin });
    expect((await fork(origin, refused, question)).status).toBe(200);
    expect((await state(url(), refused)).messages.at(-1)).toMatchObject({ status: "interrupted" });
  });

  it("sends resync to open streams of an empty target, and to clients that request all its events", async () => {
    const origin = newSession();
    await answered(origin, "what is 1 + 1?");
    const copy = newSession();
    await send(url(), "POST", "/api/sessions", { session: copy });
    const open = await EventReader.connect(url(), copy, { include: "tools,messages,state" });
    expect((await fork(origin, copy)).status).toBe(200);
    await open.find((event) => event.type === "system_notice" && event.code === "resync");
    const late = await EventReader.connect(url(), copy, { include: "messages", lastEventId: "0" });
    await late.find((event) => event.type === "system_notice" && event.code === "resync");
    const before = await state(url(), copy);
    const reader = await EventReader.connect(url(), copy, {
      include: "tools,messages,state",
      lastEventId: before.last_event_id,
    });
    const done = await answered(copy, "what is 2 + 2?");
    await reader.until(() => reader.events.at(-1)?.id === done.last_event_id);
    expect(fold(before, reader.events)).toEqual(done);
    for (const stream of [open, late, reader]) stream.leave();
  });

  it("rejects a target in use with 409, and creates nothing for unknown or malformed ids", async () => {
    const origin = newSession();
    await answered(origin, "what is 1 + 1?");
    for (const used of [origin, origin.toUpperCase()])
      expectProblem(await fork(origin, used), 409, "session_not_empty");
    const copy = newSession();
    expectProblem(await fork(newSession(), copy), 404, "session_not_found");
    expectProblem(await fork(origin, copy, newSession()), 404, "message_not_found");
    for (const json of [{}, { session_id: "x" }, { session_id: copy, through_message_id: "x" }, [], null])
      expectProblem(await fork(origin, copy, undefined, { json }), 400);
    expectProblem(await fork(origin, "00000000-0000-0000-0000-000000000000"), 400, "parameter_invalid");
    expectProblem(await send(url(), "GET", `/api/sessions/${copy}`), 404);
  });

  it("gives a copy the title of its origin", async () => {
    const origin = newSession();
    await answered(origin, "what is 1 + 1?");
    expect((await thread(url(), origin)).title).not.toBe("New Chat");
    const copy = newSession();
    await fork(origin, copy);
    expect((await thread(url(), copy)).title).toBe((await thread(url(), origin)).title);
  });
});

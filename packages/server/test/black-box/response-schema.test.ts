// Structured answers, sources and reasoning.

import { PersistedMessage } from "@colloquy/protocol";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { chat, expectProblem, expectSnapshot, newSession, send, state, whenIdle } from "./client.ts";
import { EventReader } from "./event-reader.ts";
import { fold } from "./reference-fold.ts";
import { useService } from "./server.ts";

const url = useService();

const CITY = {
  type: "object",
  properties: { city: { type: "string", maxLength: 9 }, size: { enum: ["large", "small"] } },
  required: ["city", "size"],
  additionalProperties: false,
};
/** No answer matches it. */
const IMPOSSIBLE = { type: "object", not: {} };

function ask(session: string, response_schema: unknown, headers = {}, message = "what is in Oslo?") {
  return send(url(), "POST", "/api/chat", { session, headers, json: { message, response_schema } });
}

async function records(session: string, query: string) {
  const answer = await send(url(), "GET", `/api/sessions/${session}/messages${query}`);
  expect(answer.status).toBe(200);
  return { link: answer.headers["link"], messages: answer.as(z.array(PersistedMessage.strict())) };
}

describe("POST /api/chat with response_schema", () => {
  it("answers with data that matches, in snapshots, events and records", async () => {
    const session = newSession();
    const reader = await EventReader.connect(url(), session, { include: "tools,messages,state" });
    const before = await state(url(), session);
    expectSnapshot(await ask(session, CITY), session);
    const done = await whenIdle(url(), session);
    const data = { city: "what is i", size: "large" };
    expect(done.messages[1]).toMatchObject({ status: "complete", content: JSON.stringify(data), data });
    expect(done.messages[0]).not.toHaveProperty("data");
    expect((await records(session, "")).messages[1]).toMatchObject({ data });
    await reader.until(() => reader.lastEventId === done.last_event_id);
    expect(fold(before, reader.events)).toEqual(done);
  });

  it("lets tools run before the answer", async () => {
    const session = newSession();
    await ask(session, CITY, {}, "what is 12 * 7?");
    const { messages } = await whenIdle(url(), session);
    expect(messages[1]).toMatchObject({
      tool_calls: [{ name: "calculator" }],
      data: { city: "what is 1", size: "large" },
    });
  });

  it("fails a turn whose answer does not match twice, and the session continues", async () => {
    const session = newSession();
    const reader = await EventReader.connect(url(), session, { include: "tools,messages,state" });
    const before = await state(url(), session);
    await ask(session, IMPOSSIBLE);
    const failed = await whenIdle(url(), session);
    expect(failed.messages[1]).toMatchObject({ status: "failed", content: "{}" });
    expect(failed.messages[1]).not.toHaveProperty("data");
    expect(failed.system_events).toMatchObject([{ type: "error", payload: { code: "schema_mismatch" } }]);
    await reader.until(() => reader.lastEventId === failed.last_event_id);
    const texts = reader.events.flatMap(({ event }) =>
      event.type === "message_updated" ? [event.message.content] : [],
    );
    expect(texts).toContain("");
    expect(fold(before, reader.events)).toEqual(failed);
    await chat(url(), session, "what did I say first?");
    expect((await whenIdle(url(), session)).messages[3]?.content).toContain("what is in Oslo?");
  });

  it("counts as another request under the same idempotency key", async () => {
    const session = newSession();
    const headers = { "idempotency-key": "one" };
    await ask(session, CITY, headers);
    const done = await whenIdle(url(), session);
    expectSnapshot(await ask(session, CITY, headers), session);
    expect((await state(url(), session)).messages).toEqual(done.messages);
    expectProblem(await ask(session, { ...CITY, required: [] }, headers), 409, "idempotency_key_reused");
  });

  it.each([
    ["parameter_invalid", { ...CITY, patternProperties: { "^(a+)+$": {} } }],
    ["parameter_invalid", { type: "object", properties: { a: { type: "string", pattern: "^(a+)+$" } } }],
    ["parameter_invalid", { type: "object", properties: { a: { type: "string", format: "email" } } }],
    ["parameter_invalid", { type: "object", $ref: "https://example.com/schema" }],
    ["parameter_invalid", { type: "string" }],
    ["parameter_invalid", true],
    ["invalid_response_schema", { type: "object", required: "city" }],
    ["invalid_response_schema", { type: "object", properties: { a: { type: "text" } } }],
    ["invalid_response_schema", { type: "object", $ref: "#/$defs/none" }],
  ])("gives 400 %s for %j, and creates nothing", async (code, schema) => {
    const session = newSession();
    expectProblem(await ask(session, schema), 400, code);
    expectProblem(await send(url(), "GET", `/api/sessions/${session}`), 404, "session_not_found");
  });
});

describe("sources and reasoning", () => {
  it("keeps the sources of an answer", async () => {
    const session = newSession();
    await chat(url(), session, "cite a source");
    const { messages } = await whenIdle(url(), session);
    const sources = [{ id: "source-1", url: "https://example.com/", title: "Example Domain" }];
    expect(messages[1]).toMatchObject({ sources });
    expect((await records(session, "")).messages[1]).toMatchObject({ sources });
  });

  it("shows reasoning only with include=reasoning, on every page", async () => {
    const session = newSession();
    await chat(url(), session, "think about tea");
    await whenIdle(url(), session);
    await chat(url(), session, "hello");
    const snapshot = await whenIdle(url(), session);
    expect(snapshot.messages[1]).toMatchObject({ has_reasoning: true });
    expect(snapshot.messages[3]).not.toHaveProperty("has_reasoning");
    const reasoned = "The user wants me to think about tea";
    expect(JSON.stringify([snapshot, (await records(session, "")).messages])).not.toContain(reasoned);
    const first = await records(session, "?limit=2&include=reasoning");
    expect(first.messages[0]).not.toHaveProperty("reasoning");
    expect(first.messages[1]?.reasoning).toEqual([{ step: 1, text: expect.stringContaining(reasoned) }]);
    expect(first.link).toContain("include=reasoning");
    const all = await records(session, "?include=reasoning");
    expect(all.messages.map((message) => message.reasoning?.length)).toEqual([
      undefined,
      1,
      undefined,
      undefined,
    ]);
  });
});

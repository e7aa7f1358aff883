// Summaries of long conversations. `npm run test:nodes` also runs this file against three nodes.

import type { ServerResponse } from "node:http";
import { AdminSessionDetail } from "@colloquy/protocol";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ProviderServer } from "../provider-server.ts";
import { newSession, send, state } from "./client.ts";
import { EventReader } from "./event-reader.ts";
import { Program } from "./server.ts";

const ADMIN_KEY = "black-box-admin-key-0123456789";
const provider = new ProviderServer();
let program: Program;

function say(response: ServerResponse, content: string): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  const chunk = (choice: object) =>
    `data: ${JSON.stringify({ id: "1", object: "chat.completion.chunk", created: 0, model: "m", choices: [{ index: 0, ...choice }] })}\n\n`;
  response.write(chunk({ delta: { role: "assistant", content }, finish_reason: null }));
  response.end(`${chunk({ delta: {}, finish_reason: "stop" })}data: [DONE]\n\n`);
}

const isSummary = (body: object): boolean => JSON.stringify(body).includes("You summarize a conversation");

const chat = (session: string, message: string) =>
  send(program.url, "POST", "/api/chat", { session, json: { message }, headers: { Prefer: "wait=20" } });

const summarized = async (session: string) =>
  (await state(program.url, session)).messages.flatMap(({ turn, summary }) =>
    summary === undefined ? [] : [{ turn, summary }],
  );

const admin = async (session: string) =>
  (
    await send(program.url, "GET", `/api/admin/sessions/${session}`, {
      headers: { Authorization: `Bearer ${ADMIN_KEY}` },
    })
  ).as(AdminSessionDetail);

beforeAll(async () => {
  await provider.start();
  provider.answer = (response, { body }) =>
    say(response, isSummary(body) ? "<summary>They spoke of tea.</summary>" : "tea ".repeat(500));
  const local = { kind: "openai-compatible", baseURL: provider.url, contextWindow: 4_000 };
  program = await Program.start(
    { providers: { local }, apps: { default: { models: ["local/m"] } } },
    { COLLOQUY_ADMIN_KEY: ADMIN_KEY },
  );
});
afterAll(async () => {
  await program.remove();
  await provider.stop();
});

describe("a long conversation", () => {
  it("is summarized without visible changes for clients of the specification", async () => {
    const session = newSession();
    await chat(session, "Tell me of tea 1");
    const plain = await EventReader.connect(program.url, session);
    const full = await EventReader.connect(program.url, session, { include: "messages" });
    for (const n of [2, 3, 4]) await chat(session, `Tell me of tea ${n}`);
    const summary = {
      tokens_before: expect.any(Number),
      tokens_after: expect.any(Number),
      created_at: expect.any(String),
    };
    await expect.poll(() => summarized(session)).toEqual([{ turn: 3, summary }]);
    const { event } = await full.find((one) => JSON.stringify(one).includes('"summary":'));
    expect(event).toMatchObject({ type: "message_updated", message: { turn: 3, summary } });
    full.leave();
    await send(program.url, "PATCH", `/api/sessions/${session}`, { json: { title: "The end" } });
    const isLast = (one: object) => JSON.stringify(one).includes('"The end"');
    await plain.find(isLast);
    const types = plain.events.map(({ event }) => event.type);
    expect(types.filter((type) => type !== "title_changed")).toEqual([]);
    plain.leave();

    const records = await send(program.url, "GET", `/api/sessions/${session}/messages`);
    expect((records.json() as unknown[])[5]).toMatchObject({ turn: 3, summary });
    expect(records.text + JSON.stringify(await state(program.url, session))).not.toContain(
      "They spoke of tea.",
    );

    await chat(session, "And more?");
    await chat(session, "And now?");
    const { messages } = provider.requests.findLast(({ body }) => !isSummary(body))!.body as {
      messages: readonly { role: string; content: string }[];
    };
    const roles = messages.map(({ role }) => role).join(" ");
    expect(roles).toBe("user assistant user assistant user assistant user");
    expect(messages[1]!.content).toContain("They spoke of tea.");
    expect((await admin(session)).summaries).toEqual([{ turn: 3, ...summary }]);
  });
});

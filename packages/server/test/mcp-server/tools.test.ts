// Calls the tools with the SDK's client, in the newest revision and in one of 2025.

import { randomUUID } from "node:crypto";
import type { Client, ClientOptions } from "@modelcontextprotocol/client";
import { describe, expect, it } from "vitest";
import { MODERN, useMcp } from "./mcp-service.ts";

interface Answer {
  readonly session_id: string;
  readonly message_id: string;
  readonly status: string;
  readonly text: string;
  readonly is_cut: boolean;
  readonly pending_actions: readonly { readonly id: string; readonly tool: string; readonly kind: string }[];
  readonly error?: { readonly code: string; readonly message: string };
}

async function callTool(client: Client, name: string, input: object, options = {}) {
  const result = await client.callTool({ name, arguments: { ...input } }, options);
  const text = result.content.map((part) => (part.type === "text" ? part.text : "")).join("\n");
  return {
    text,
    isError: result.isError === true,
    answer: result.structuredContent as Answer,
    result,
  };
}

const REVISIONS: readonly (readonly [string, ClientOptions])[] = [
  ["2026-07-28", MODERN],
  ["2025-11-25", {}],
  ["2025-06-18", { supportedProtocolVersions: ["2025-06-18"] }],
];

describe.each(REVISIONS)("a client of revision %s", (revision, options) => {
  const service = useMcp();

  it("negotiates the revision and lists the tools with schemas that all providers accept", async () => {
    const client = await service().connect(options);
    expect(client.getNegotiatedProtocolVersion()).toBe(revision);
    expect(client.getServerVersion()).toMatchObject({ name: "colloquy" });
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual([
      "start_conversation",
      "send_message",
      "get_conversation",
      "list_conversations",
      "search",
      "interrupt",
    ]);
    expect(JSON.stringify(tools)).not.toMatch(
      /"(?:\$schema|additionalProperties|anyOf|oneOf|format|pattern)"/,
    );
    for (const { name, inputSchema } of tools) {
      expect(name).toMatch(/^[a-z_]{1,32}$/);
      expect(inputSchema.type).toBe("object");
    }
  });

  it("starts a conversation, continues it, and reads it", async () => {
    const client = await service().connect(options);
    const starting = callTool(client, "start_conversation", { message: "hello 👋" });
    (await service().model.next()).say("Hi ", "there 🎉").finish();
    const { answer: first, text } = await starting;
    expect(first).toMatchObject({
      status: "complete",
      text: "Hi there 🎉",
      is_cut: false,
      pending_actions: [],
    });
    expect(text).toContain("Hi there 🎉");
    expect(text).toContain(`session_id: ${first.session_id}`);
    const sending = callTool(client, "send_message", { session_id: first.session_id, message: "and?" });
    const call = await service().model.next();
    expect(call.prompt).toContainEqual(expect.stringContaining("Hi there 🎉"));
    call.say("More").finish();
    expect((await sending).answer).toMatchObject({ session_id: first.session_id, text: "More" });
    const { answer: all, text: transcript } = await callTool(client, "get_conversation", {
      session_id: first.session_id,
      limit: 3,
    });
    expect(all).toMatchObject({
      status: "complete",
      has_earlier: true,
      messages: [
        { text: "Hi there 🎉", role: "assistant" },
        { text: "and?", role: "user" },
        { text: "More" },
      ],
    });
    expect(transcript).toContain("and?");
    const [{ id: before } = { id: "" }] = (all as unknown as { messages: { id: string }[] }).messages;
    const { answer: earlier } = await callTool(client, "get_conversation", {
      session_id: first.session_id,
      before,
    });
    expect(earlier).toMatchObject({ has_earlier: false, messages: [{ text: "hello 👋" }] });
  });

  it("receives progress while the answer streams, if it requests progress", async () => {
    const client = await service().connect(options);
    const seen: { readonly progress: number; readonly message?: string }[] = [];
    const texts = Promise.withResolvers<void>();
    const starting = callTool(
      client,
      "start_conversation",
      { message: "hello" },
      {
        onprogress: (one: { progress: number; message?: string }) => {
          seen.push(one);
          if (one.message === "One two") texts.resolve();
        },
      },
    );
    const call = await service().model.next();
    call.say("One ", "two");
    await texts.promise;
    call.finish();
    const { answer } = await starting;
    expect(seen[0]).toEqual({ progress: 1, message: `session_id: ${answer.session_id}` });
    expect(seen.map(({ progress }) => progress)).toEqual(seen.map((_, index) => index + 1));
  });

  it("gets a partial answer after wait_seconds, and waits for the rest with get_conversation", async () => {
    const client = await service().connect(options);
    const starting = callTool(client, "start_conversation", { message: "hello", wait_seconds: 5 });
    const call = await service().model.next();
    call.say("Slow");
    const { answer, isError } = await starting;
    expect(isError).toBe(false);
    expect(answer).toMatchObject({ status: "running", text: "Slow" });
    const { session_id } = answer;
    const waiting = callTool(client, "get_conversation", { session_id, wait_seconds: 300 });
    call.say(" but sure").finish();
    expect((await waiting).answer).toMatchObject({ status: "complete" });
  });

  it("ends only the wait when it cancels a call, and stops the answer with interrupt", async () => {
    const client = await service().connect(options);
    const session_id = randomUUID();
    const cancelled = new AbortController();
    const starting = callTool(
      client,
      "start_conversation",
      { message: "hello", session_id },
      { signal: cancelled.signal },
    );
    const call = await service().model.next();
    call.say("On");
    cancelled.abort();
    await expect(starting).rejects.toThrow();
    expect((await callTool(client, "get_conversation", { session_id })).answer).toMatchObject({
      status: "running",
    });
    const { answer } = await callTool(client, "interrupt", { session_id });
    expect(answer).toEqual({ session_id, status: "interrupted" });
    expect((await callTool(client, "get_conversation", { session_id })).answer).toMatchObject({
      messages: [{ text: "hello" }, { text: "On", status: "interrupted" }],
    });
  });

  it("sends no second message when it repeats a call", async () => {
    const client = await service().connect(options);
    const session_id = randomUUID();
    const start = { message: "hello", session_id };
    const starting = callTool(client, "start_conversation", start);
    (await service().model.next()).say("Hi").finish();
    const { answer: first } = await starting;
    expect((await callTool(client, "start_conversation", start)).answer).toEqual(first);
    const more = { session_id, message: "more", message_id: randomUUID() };
    const sending = callTool(client, "send_message", more);
    (await service().model.next()).say("More").finish();
    const { answer: second } = await sending;
    expect(second.message_id).toBe(more.message_id);
    expect((await callTool(client, "send_message", more)).answer).toEqual(second);
    expect(service().model.waitingCalls).toBe(0);
  });

  it("gets the reason of a failed answer", async () => {
    const client = await service().connect(options);
    const starting = callTool(client, "start_conversation", { message: "hello" });
    (await service().model.next()).finish("content-filter");
    const { answer, text } = await starting;
    expect(answer).toMatchObject({ status: "failed", error: { code: "model_refused" } });
    expect(text).toContain(answer.error?.message);
  });

  it("gets errors as text for its model, with the code and the request id", async () => {
    const client = await service().connect(options);
    const session_id = randomUUID();
    const unknown = await callTool(client, "send_message", { session_id, message: "hello" });
    expect(unknown).toMatchObject({
      isError: true,
      result: { _meta: { "colloquy/error": { status: 404, code: "session_not_found" } } },
    });
    expect(unknown.text).toMatch(/\(session_not_found, request [\w-]+\)$/);
    expect(await callTool(client, "get_conversation", { session_id: "nonsense" })).toMatchObject({
      isError: true,
      text: expect.stringContaining('"session_id" must be a UUID'),
    });
    expect(await callTool(client, "start_conversation", { message: " " })).toMatchObject({
      isError: true,
      text: expect.stringContaining("message_blank"),
    });
    expect(await callTool(client, "send_message", { session_id })).toMatchObject({
      isError: true,
      text: expect.stringContaining("message"),
    });
    expect(await callTool(client, "list_conversations", {})).toMatchObject({
      isError: true,
      text: expect.stringContaining("user_missing"),
    });
    await expect(client.callTool({ name: "decide", arguments: {} })).rejects.toThrow(/decide/);
  });

  it("searches messages, of one conversation without a user", async () => {
    const client = await service().connect(options);
    const started = callTool(client, "start_conversation", { message: "Where is the axolotl?" });
    (await service().model.next()).say("The axolotl is in the lake.").finish();
    const { session_id } = (await started).answer;
    const search = (more: object) => callTool(client, "search", { query: "axolotl lak", ...more });
    await expect
      .poll(async () => (await search({ session_id })).text)
      .toContain("The **axolotl** is in the **lake**.");
    expect(await search({})).toMatchObject({ isError: true, text: expect.stringContaining("user_missing") });
    expect(await search({ session_id: randomUUID() })).toMatchObject({ isError: true });
    expect(await callTool(client, "search", { query: "*", session_id })).toMatchObject({
      isError: true,
      text: expect.stringContaining("parameter_invalid"),
    });
    expect((await callTool(client, "search", { query: "nothing", session_id })).text).toBe(
      "No message matches.",
    );
  });

  it("may send null for absent arguments, and integers as text", async () => {
    const client = await service().connect(options);
    const input = { message: "hello", session_id: null, wait_seconds: "0" };
    const { answer } = await callTool(client, "start_conversation", input);
    expect(answer).toMatchObject({ text: "", session_id: expect.any(String) });
    (await service().model.next()).finish();
    const wrong = await callTool(client, "start_conversation", { message: "hello", wait_seconds: "soon" });
    expect(wrong).toMatchObject({ isError: true, text: expect.stringContaining("wait_seconds") });
  });

  it("gets the start of a huge answer, and all of it as a resource", async () => {
    const client = await service().connect(options);
    const starting = callTool(client, "start_conversation", { message: "hello" });
    const huge = "🎉".repeat(40_000);
    (await service().model.next()).say(huge).finish();
    const { answer } = await starting;
    expect(answer.is_cut).toBe(true);
    expect(answer.text).toBe(huge.slice(0, 20_000));
    const { contents } = await client.readResource({ uri: `colloquy://sessions/${answer.session_id}` });
    expect(contents).toEqual([
      expect.objectContaining({ mimeType: "text/markdown", text: expect.stringContaining(huge) }),
    ]);
  });

  it("reads transcripts as resources", async () => {
    const client = await service().connect(options);
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual([
      "colloquy://sessions/{session_id}",
      "colloquy://sessions/{session_id}/messages",
      "colloquy://sessions/{session_id}/files/{file_id}",
    ]);
    expect((await client.listResources()).resources).toEqual([]);
    const starting = callTool(client, "start_conversation", { message: "hello" });
    (await service().model.next()).say("Hi").finish();
    const { session_id } = (await starting).answer;
    const uri = `colloquy://sessions/${session_id}`;
    const markdown = (await client.readResource({ uri })).contents[0] as { text: string };
    expect(markdown.text).toMatch(/^# .+\n\n## User \(.+\)\n\nhello\n\n## Assistant \(.+\)\n\nHi\n$/);
    const json = (await client.readResource({ uri: `${uri}/messages` })).contents[0] as { text: string };
    expect(JSON.parse(json.text)).toMatchObject([
      { role: "user", content: "hello", session_id },
      { role: "assistant", content: "Hi" },
    ]);
    for (const missing of [`colloquy://sessions/${randomUUID()}`, "colloquy://sessions/nonsense"])
      await expect(client.readResource({ uri: missing })).rejects.toMatchObject({
        data: { request_id: expect.any(String) },
      });
  });
});

describe("a pending action", () => {
  const byDefault = useMcp();
  const allowed = useMcp({ settings: { apps: ["default"], allowDecisions: true } });
  const order = { cups: 2 };

  it("ends the wait, and cannot be decided by the host's model by default", async () => {
    const client = await byDefault().connect(MODERN);
    const starting = callTool(client, "start_conversation", { message: "tea" });
    (await byDefault().model.next()).callTool("brew", order).finish("tool-calls");
    const { answer, text } = await starting;
    expect(answer).toMatchObject({
      status: "waiting",
      pending_actions: [{ kind: "approval", tool: "brew" }],
    });
    expect(text).toContain(answer.pending_actions[0]!.id);
    expect((await client.listTools()).tools.map(({ name }) => name)).not.toContain("decide");
  });

  it.each([
    ["approve", "approved"],
    ["deny", "denied"],
  ] as const)("is decided with %s where the setting allows it", async (decision, status) => {
    const client = await allowed().connect(MODERN);
    const starting = callTool(client, "start_conversation", { message: "tea" });
    (await allowed().model.next()).callTool("brew", order).finish("tool-calls");
    const {
      session_id,
      pending_actions: [action],
    } = (await starting).answer;
    const decide = { session_id, action_id: action!.id, decision };
    const deciding = callTool(client, "decide", decide);
    (await allowed().model.next()).say("Done").finish();
    expect((await deciding).answer).toMatchObject({ status: "complete", pending_actions: [] });
    const state = await fetch(`${allowed().url}/api/state`, { headers: { "X-Session-Id": session_id } });
    expect(JSON.stringify(await state.json())).toContain(`"status":"${status}"`);
    expect(await callTool(client, "decide", decide)).toMatchObject({
      isError: true,
      text: expect.stringContaining("action_not_found"),
    });
  });
});

import { randomUUID } from "node:crypto";
import { getEventListeners } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { simulateReadableStream } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { Registry } from "prom-client";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import {
  createEngine,
  defineModelProvider,
  defineToolSource,
  type Engine,
  type EngineEvent,
  type EngineOptions,
  ServiceError,
} from "../index.ts";
import { partsOf } from "./engine.ts";

const engines: Engine[] = [];
afterEach(() => Promise.all(engines.splice(0).map((engine) => engine.close())));

async function start(options: EngineOptions = {}): Promise<Engine["conversations"]> {
  const engine = await createEngine(options);
  engines.push(engine);
  return engine.conversations;
}

const WAIT = 20_000;

describe("an embedded engine", () => {
  it("answers a chat with the demo model", async () => {
    const conversations = await start();
    const session = randomUUID();
    const { messages, is_processing } = await conversations.chat({ session, message: "hello", wait: WAIT });
    expect(is_processing).toBe(false);
    expect(messages.map(({ sender }) => sender)).toEqual(["user", "agent"]);
    expect(messages[1]?.content).not.toBe("");
  });

  it("uses custom models, and Apps in the format of the configuration file", async () => {
    const model = answering("I am a pirate.");
    const conversations = await start({
      models: { "mine/pirate": model },
      apps: { default: { instructions: "Talk like a pirate.", models: ["mine/pirate"] } },
    });
    const answer = await conversations.chat({ session: randomUUID(), message: "hi", wait: WAIT });
    expect(answer.messages[1]?.content).toBe("I am a pirate.");
    expect(JSON.stringify(model.doStreamCalls)).toContain("Talk like a pirate.");
  });

  it("yields typed events and deltas until the signal aborts", async () => {
    const conversations = await start({ models: { "mine/one": answering("one two") } });
    const session = randomUUID();
    const done = new AbortController();
    const subscribed = conversations.subscribe({ session, signal: done.signal });
    await conversations.chat({ session, message: "hi", wait: WAIT });
    const events: EngineEvent[] = [];
    for await (const one of subscribed) {
      events.push(one);
      if (one.event.type === "state_changed" && one.event.status === "idle") done.abort();
    }
    expect(events.map(({ event }) => event.type)).toEqual(
      expect.arrayContaining(["message_created", "message_delta", "message_completed"]),
    );
    expect(events.find(({ event }) => event.type === "message_delta")?.id).toBeNull();
  });

  it("resumes after an event id without losing or duplicating events", async () => {
    const conversations = await start({ models: { "mine/one": answering("one") } });
    const session = randomUUID();
    await conversations.chat({ session, message: "hi", wait: WAIT });
    const read = async (after: string, count: number) => {
      const ids: string[] = [];
      for await (const { id } of conversations.subscribe({ session, after })) {
        if (id !== null) ids.push(id);
        if (ids.length === count) break;
      }
      return ids;
    };
    const all = await read("0", 3);
    expect(await read(all[0]!, 2)).toEqual(all.slice(1));
  });

  it.each(["while it waits for an event", "before its first event is read"])(
    "closes the stream of a subscription that its signal ends %s",
    async (when) => {
      const engine = await createEngine();
      engines.push(engine);
      const session = randomUUID();
      await engine.conversations.state({ session });
      const done = new AbortController();
      const events = engine.conversations.subscribe({ session, signal: done.signal })[Symbol.asyncIterator]();
      const next = when.startsWith("while") ? events.next() : null;
      await engine.conversations.chat({ session, message: "hi", wait: WAIT });
      const { feed } = partsOf(engine).service;
      expect(feed.openStreams).toBe(1);
      await next;
      done.abort();
      if (next !== null) while ((await events.next()).done !== true);
      // A wrongly opened stream would be open by now.
      await engine.conversations.chat({ session, message: "hi", wait: WAIT });
      expect(feed.openStreams).toBe(0);
    },
  );

  it("ends subscriptions when the engine closes", async () => {
    const engine = await createEngine();
    const session = randomUUID();
    const events = engine.conversations.subscribe({ session })[Symbol.asyncIterator]();
    const next = events.next();
    await engine.conversations.state({ session });
    await engine.close();
    expect(await next).toMatchObject({ done: true });
  });

  it("ends the subscription when the conversation is deleted", async () => {
    const conversations = await start();
    const session = randomUUID();
    await conversations.state({ session });
    const events = conversations.subscribe({ session })[Symbol.asyncIterator]();
    const first = events.next();
    await conversations.delete({ session });
    expect((await first).value).toMatchObject({ event: { code: "session_deleted" } });
    expect(await events.next()).toMatchObject({ done: true });
  });

  it("ends at once when its consumer returns during a wait, and when its signal aborts before the first read", async () => {
    const register = new Registry();
    const conversations = await start({ metrics: register });
    const open = async () =>
      (await register.getSingleMetric("colloquy_streams_open")?.get())?.values[0]?.value;
    const session = randomUUID();
    const events = conversations.subscribe({ session })[Symbol.asyncIterator]();
    const waiting = events.next();
    await expect.poll(open).toBe(1);
    expect(await events.return?.()).toEqual({ done: true, value: undefined });
    expect(await waiting).toEqual({ done: true, value: undefined });
    expect(await open()).toBe(0);
    const unread = new AbortController();
    conversations.subscribe({ session, signal: unread.signal });
    await expect.poll(open).toBe(1);
    unread.abort();
    expect(await open()).toBe(0);
  });

  it("leaves no listener on a reused signal", async () => {
    const conversations = await start();
    const { signal } = new AbortController();
    for (let round = 0; round < 12; round += 1) {
      const session = randomUUID();
      const events = conversations.subscribe({ session, signal });
      await conversations.chat({ session, message: "hello", wait: WAIT, signal });
      for await (const _ of events) break;
    }
    expect(getEventListeners(signal, "abort")).toEqual([]);
  });

  it("delivers all events to a slow consumer", async () => {
    const conversations = await start({ models: { "mine/long": answering("x".repeat(300_000)) } });
    const session = randomUUID();
    await conversations.state({ session });
    const done = new AbortController();
    const events = conversations.subscribe({ session, signal: done.signal })[Symbol.asyncIterator]();
    const first = events.next();
    for (let turn = 0; turn < 4; turn += 1)
      await conversations.chat({ session, message: "go on", wait: WAIT });
    const seen: string[] = [];
    for (let next = await first; seen.length < 4; next = await events.next()) {
      const { event } = next.value as EngineEvent;
      if (event.type === "message_completed" && "message" in event && event.message.sender === "agent")
        seen.push(event.message.id);
    }
    done.abort();
    const { messages } = await conversations.state({ session });
    expect(seen).toEqual(messages.filter(({ sender }) => sender === "agent").map(({ id }) => id));
  });

  it("returns the latest messages, or those before a given one", async () => {
    const conversations = await start({});
    const session = randomUUID();
    const last = { last: 1 };
    const { messages: whole } = await conversations.chat({ session, message: "Hello", wait: WAIT });
    const answered = await conversations.chat({ session, message: "Bye", wait: WAIT, messages: last });
    expect(answered).toMatchObject({ messages: [{ sender: "agent" }], messages_before: 3 });
    const before = whole[1]?.id ?? "";
    const earlier = await conversations.state({ session, messages: { last: 5, before } });
    expect([earlier.messages, earlier.messages_before]).toEqual([whole.slice(0, 1), 0]);
    expect((await conversations.interrupt({ session, messages: last })).messages).toHaveLength(1);
    for (const wrong of [-1, 1.5, 1_001])
      await expect(conversations.state({ session, messages: { last: wrong } })).rejects.toMatchObject({
        code: "parameter_invalid",
      });
    const unknown = { last: 1, before: randomUUID() };
    await expect(conversations.state({ session, messages: unknown })).rejects.toMatchObject({
      code: "message_not_found",
    });
  });

  it("delivers the progress of a call", async () => {
    const count = {
      inputSchema: z.object({}),
      async *execute() {
        yield "half";
        return "done";
      },
    };
    const conversations = await start({ apps: { default: { tools: { count } } } });
    const session = randomUUID();
    const done = new AbortController();
    const events = conversations.subscribe({ session, signal: done.signal });
    await conversations.chat({ session, message: "call count {}" });
    const progress: unknown[] = [];
    for await (const { event } of events) {
      if (event.type === "tool_update" && event.progress !== null) progress.push(event.progress);
      if (event.type === "state_changed" && event.status === "idle") done.abort();
    }
    expect(progress).toEqual(["half"]);
  });

  it("hides a user's conversations from other users and anonymous calls", async () => {
    const conversations = await start();
    const session = randomUUID();
    await conversations.chat({ session, user: "ann", message: "hello", wait: WAIT });
    expect((await conversations.state({ session, user: "ann" })).messages).toHaveLength(2);
    for (const user of ["bob", undefined])
      await expect(
        conversations.state({ session, ...(user !== undefined && { user }) }),
      ).rejects.toMatchObject({ status: 404 });
  });

  it("waits for a decision and continues after it", async () => {
    const conversations = await start();
    const session = randomUUID();
    await conversations.chat({ session, message: "order 2 cups of tea", wait: WAIT });
    const [action] = await conversations.actions({ session });
    expect(action).toMatchObject({ kind: "approval", status: "pending" });
    await conversations.decide({ session, action: action!.id, decision: "approve" });
    const { is_processing, messages } = await conversations.state({ session, wait: WAIT });
    expect(is_processing).toBe(false);
    expect(messages[1]?.content).toContain("2 cups");
  });

  it("resumes after a restart with the same directory", async () => {
    const directory = await mkdtemp(join(tmpdir(), "colloquy-engine-"));
    try {
      const session = randomUUID();
      const first = await createEngine({ directory });
      await first.conversations.chat({ session, message: "hello", wait: WAIT });
      await first.close();
      const again = await createEngine({ directory });
      expect((await again.conversations.state({ session })).messages).toHaveLength(2);
      await again.close();
    } finally {
      await rm(directory, { recursive: true });
    }
  });

  it("runs the tools of a plugin configured in an App", async () => {
    const greeter = defineToolSource({
      name: "greeter",
      version: "1.0.0",
      settings: z.strictObject({ greeting: z.string() }),
      create: ({ greeting }) => ({
        tools: () => [
          {
            name: "greet",
            description: "Greets a person",
            inputSchema: z.object({ name: z.string() }),
            execute: ({ name }: { readonly name: string }) => `${greeting}, ${name}!`,
          },
        ],
      }),
    });
    const engine = await createEngine({
      plugins: [greeter],
      apps: { default: { models: ["test/caller"], greeter: { greeting: "Hello" } } },
      models: { "test/caller": calling("greeter_greet", { name: "Ada" }) },
    });
    const { messages } = await engine.conversations.chat({
      session: randomUUID(),
      message: "greet",
      wait: WAIT,
    });
    expect(JSON.stringify(messages)).toContain("Hello, Ada!");
    await engine.close();
    // @ts-expect-error: `greeting` must be a string.
    const rejected = createEngine({ plugins: [greeter], apps: { default: { greeter: { greeting: 1 } } } });
    await expect(rejected).rejects.toThrow("apps.default.greeter.greeting: must be text, not a number.");
    await expect(createEngine({ plugins: [greeter, greeter] })).rejects.toThrow(
      'plugins[1]: "greeter" is the name of two plugins. Remove one.',
    );
  });

  it("uses the models of a model-provider plugin", async () => {
    const seen: unknown[] = [];
    const acme = defineModelProvider({
      name: "acme",
      version: "1.0.0",
      settings: z.strictObject({ region: z.enum(["eu", "us"]) }),
      contextWindow: () => 16_000,
      create(settings, { name, apiKey }) {
        seen.push({ settings, name, apiKey });
        return { model: (id) => answering(`I am ${id}`) };
      },
    });
    const engine = await createEngine({
      plugins: [acme],
      providers: { here: { kind: "acme", region: "{{env.REGION}}" as "eu", apiKeyEnv: "ACME_KEY" } },
      apps: { default: { models: ["here/large"] } },
      environment: { ACME_KEY: "k-1", REGION: "eu" },
    });
    const { messages } = await engine.conversations.chat({
      session: randomUUID(),
      message: "hi",
      wait: WAIT,
    });
    expect(JSON.stringify(messages.at(-1))).toContain("I am large");
    expect(seen).toEqual([{ settings: { region: "eu" }, name: "here", apiKey: "k-1" }]);
    await engine.close();
  });

  it("reports all invalid options", async () => {
    const options = {
      apps: { default: { modles: [] } },
      limits: { maxSteps: 0 },
    } as unknown as EngineOptions;
    await expect(createEngine(options)).rejects.toThrow(
      /^The engine cannot start: the options have 2 problems\./,
    );
  });

  it("names the plugins for a section whose plugin is absent", async () => {
    const apps = { default: { mcp: { docs: { url: "https://docs.test/mcp" } } } };
    await expect(createEngine({ apps })).rejects.toThrow(
      /apps\.default\.mcp: is not a known setting\. .* needs the plugin in "plugins"\./,
    );
  });

  it("rejects an invalid session id and a blank message", async () => {
    const conversations = await start();
    await expect(conversations.chat({ session: "mine", message: "hi" })).rejects.toThrow(ServiceError);
    await expect(conversations.chat({ session: "mine", message: "hi" })).rejects.toMatchObject({
      status: 400,
      detail: expect.stringContaining('The option "session" must be a UUID') as string,
    });
    await expect(conversations.chat({ session: randomUUID(), message: " " })).rejects.toMatchObject({
      code: "message_blank",
    });
  });
});

/** Calls a tool, then answers with its result. */
function calling(toolName: string, input: object): MockLanguageModelV4 {
  const usage = {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  };
  return new MockLanguageModelV4({
    doGenerate: () => Promise.reject(new Error("Titles fall back to the message.")),
    doStream: async ({ prompt }) => {
      const isDone = prompt.at(-1)?.role === "tool";
      const reason = isDone ? "stop" : "tool-calls";
      return {
        stream: simulateReadableStream({
          chunks: [
            { type: "stream-start", warnings: [] },
            ...(isDone
              ? []
              : [{ type: "tool-call", toolCallId: "1", toolName, input: JSON.stringify(input) } as const]),
            { type: "finish", finishReason: { unified: reason, raw: reason }, usage },
          ],
        }),
      };
    },
  });
}

function answering(text: string): MockLanguageModelV4 {
  return new MockLanguageModelV4({
    doGenerate: () => Promise.reject(new Error("Titles fall back to the message.")),
    doStream: async () => ({
      stream: simulateReadableStream({
        chunks: [
          { type: "stream-start", warnings: [] },
          { type: "text-start", id: "1" },
          { type: "text-delta", id: "1", delta: text },
          { type: "text-end", id: "1" },
          {
            type: "finish",
            finishReason: { unified: "stop", raw: "stop" },
            usage: {
              inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
              outputTokens: { total: 1, text: 1, reasoning: 0 },
            },
          },
        ],
      }),
    }),
  });
}

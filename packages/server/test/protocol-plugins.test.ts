// Mounts protocol plugins on a real engine behind `createHandler`. docs/guides/write-a-plugin.md has a complete one.

import { randomUUID } from "node:crypto";
import { createEngine, type Engine, type Logger } from "@colloquy/engine";
import { KeyAdministration } from "@colloquy/engine/internal/apps/keys/key-administration";
import { partsOf } from "@colloquy/engine/internal/wiring/engine";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { startEdges } from "../src/http/testing/edge.ts";
import { newSession } from "./black-box/client.ts";
import {
  createHandler,
  defineProtocol,
  type HandlerOptions,
  type Protocol,
  type ProtocolContext,
  type ProtocolPlugin,
  type RouteAccess,
} from "../src/index.ts";

const edges = await startEdges();

const engines: Engine[] = [];
afterEach(async () => {
  for (const engine of engines.splice(0)) await engine.close();
});

const ACCESS = {
  session: "header",
  app: "body",
  scope: "chat",
  creates: true,
  counted: "caller",
  keyHeader: "authorization",
} as const;

interface Parts {
  readonly access?: RouteAccess | undefined;
  readonly config?: object;
  readonly respond?: (
    context: ProtocolContext,
    ...of: Parameters<Parameters<Parameters<Protocol["routes"]>[0]["route"]>[0]["handler"]>
  ) => unknown;
}

/** A protocol with `POST /mine`, which sends `text` to the App `app` by default. Its errors are `{"error": {"message", "type"}}`. */
function mine({ access = ACCESS, config = {}, respond }: Parts = {}) {
  return defineProtocol({
    name: "mine",
    version: "1.0.0",
    create: (_settings, context) => ({
      formatError: ({ detail, code }) => ({
        contentType: "application/json",
        body: JSON.stringify({ error: { message: detail, type: code } }),
      }),
      routes(app) {
        app.route({
          method: "POST",
          url: "/mine",
          config: { ...(access !== undefined && { access }), ...config },
          schema: { body: z.object({ text: z.string(), app: z.string().optional() }) },
          handler: async function handler(request, reply) {
            if (respond !== undefined) return await respond(context, request, reply);
            const { text, app: name } = request.body;
            const { turn } = await context.conversation(request, { app: name }).send({ text });
            return { turn };
          },
        });
      },
    }),
  });
}

async function serve(plugin: ProtocolPlugin, options: HandlerOptions = {}, logger?: Logger) {
  const engine = await createEngine({
    plugins: [plugin as never],
    apps: { shop: {} },
    ...(logger !== undefined && { logger }),
  });
  engines.push(engine);
  const handle = createHandler(engine, options);
  const post = (
    body: object,
    {
      session = newSession(),
      headers = {},
      ...more
    }: { session?: string; headers?: Record<string, string>; signal?: AbortSignal } = {},
  ) =>
    handle(
      new Request("http://here/mine", {
        method: "POST",
        headers: { "x-session-id": session, "content-type": "application/json", ...headers },
        body: JSON.stringify(body),
        ...more,
      }),
      { address: "192.0.2.1" },
    );
  return { engine, handle, post };
}

async function errorOf(answer: Response): Promise<readonly [status: number, type: string]> {
  const { error } = (await answer.json()) as { error: { type: string; message: string } };
  expect(error.message).toMatch(/\.$/);
  return [answer.status, error.type];
}

describe("an invalid protocol", () => {
  const failing = (plugin: ProtocolPlugin) => serve(plugin).then(({ post }) => post({ text: "hello" }));

  it("fails to start if a route declares no access", async () => {
    const plugin = defineProtocol({
      name: "open",
      version: "1.0.0",
      create: () => ({ routes: (app) => void app.get("/open", () => "for all") }),
    });
    await expect(failing(plugin)).rejects.toThrow("The route GET /open declares no access.");
  });

  it("fails to start if pages of other origins could send its bodies without a preflight", async () => {
    const access = { ...ACCESS, session: "body" } as const;
    const plugin = mine({ access, config: { mediaTypes: ["text/plain"] } });
    await expect(failing(plugin)).rejects.toThrow("Pages of other origins may send bodies to /mine.");
  });

  it("is named in the error if it cannot be created", async () => {
    const create = () => Promise.reject(new Error("The certificate has expired."));
    const plugin = defineProtocol({ name: "mine", version: "1.0.0", create });
    await expect(failing(plugin)).rejects.toThrow(
      'The protocol "mine" cannot be set up: The certificate has expired.',
    );
  });

  it("is named in the error with its missing setting", async () => {
    const settings = z.strictObject({ secret: z.string("must be a string") });
    const plugin = defineProtocol({
      name: "mine",
      version: "1.0.0",
      settings,
      create: () => ({ routes() {} }),
    });
    await expect(serve(plugin).then(({ post }) => post({}))).rejects.toThrow(
      "protocols.mine.secret: must be a string",
    );
  });

  it("responds with 500 if its handler skips the access check", async () => {
    const { post } = await serve(mine({ respond: () => ({ history: "of somebody" }) }));
    expect(await errorOf(await post({ text: "hello" }))).toEqual([500, "internal_error"]);
  });
});

describe("a protocol's route", () => {
  it("sends messages, and creates conversations only if it declares `creates`", async () => {
    const session = randomUUID();
    const { engine, post } = await serve(mine());
    expect(await (await post({ text: "hello" }, { session })).json()).toEqual({ turn: 1 });
    expect((await engine.conversations.state({ session })).messages[0]).toMatchObject({ content: "hello" });
    const { creates: _, ...access } = ACCESS;
    const other = await serve(mine({ access }));
    expect(await errorOf(await other.post({ text: "hello" }))).toEqual([404, "session_not_found"]);
  });

  it("formats errors of the framework, of validation and of access", async () => {
    const { post } = await serve(mine());
    expect(await errorOf(await post({ text: "hello" }, { headers: { "content-type": "text/x" } }))).toEqual([
      415,
      "media_type_unsupported",
    ]);
    expect(await errorOf(await post({}))).toEqual([400, "parameter_missing"]);
    expect(await errorOf(await post({ text: "a".repeat(100_000) }))).toEqual([413, "body_too_large"]);
    const denied = await post({ text: "hello", app: "shop" });
    expect(denied.headers.get("www-authenticate")).toMatch(/^ServiceAppKey /);
    expect(await errorOf(denied)).toEqual([401, "app_key_invalid"]);
  });

  it("counts messages for their caller, and keeps the header fields of errors", async () => {
    const { post } = await serve(mine(), { rateLimits: { chatsPerMinute: 1 } });
    expect((await post({ text: "hello" })).status).toBe(200);
    const refused = await post({ text: "hello" });
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(await errorOf(refused)).toEqual([429, "rate_limited"]);
  });

  it("counts each message of a request, also after another change", async () => {
    const session = randomUUID();
    const respond: Parts["respond"] = async ({ conversation }, request) => {
      const named = conversation(request);
      const { text } = request.body as { readonly text: string };
      const turns: number[] = [];
      for (const part of text.split(" ")) {
        turns.push((await named.send({ text: part })).turn);
        await named.interrupt();
      }
      return { turns };
    };
    const { engine, post } = await serve(mine({ respond }), { rateLimits: { chatsPerMinute: 2 } });
    expect(await errorOf(await post({ text: "one two three" }, { session }))).toEqual([429, "rate_limited"]);
    const { messages } = await engine.conversations.state({ session });
    expect(messages.filter(({ sender }) => sender === "user").map(({ content }) => content)).toEqual([
      "one",
      "two",
    ]);
  });

  it("ends its stream within seconds after the key is revoked (Tr3kkR/Yuzu#955, Wave-RF/WaveHouse#239)", async () => {
    const respond: Parts["respond"] = async ({ conversation }, request, reply) => {
      const named = conversation(request, { app: "shop" });
      await named.stream(reply, async () => {
        const { position } = await named.send({ text: "hello" });
        return { after: position, isOver: false, begin: () => "open\n", encode: ({ type }) => `${type}\n` };
      });
    };
    const { engine, post } = await serve(mine({ respond }));
    const { store, clock, service } = partsOf(engine);
    const keys = new KeyAdministration({ store: store.keys, clock, apps: () => service.apps.names() });
    const { id, key } = await keys.create({ apps: ["shop"], scopes: [], name: null, expiresInMs: null });
    const answer = await post(
      { text: "hello", app: "shop" },
      { headers: { authorization: `Bearer ${key}` } },
    );
    expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
    const reader = answer.body!.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    while (!text.includes("message_completed")) text += (await reader.read()).value;
    expect(text).toMatch(/^open\n/);
    await keys.revoke(id);
    const rest = async () => {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        text += value;
      }
    };
    // Aborted, so that the client does not take the response for complete.
    await expect(rest()).rejects.toThrow();
  });

  it("aborts the stream if it fails to encode an event", async () => {
    const respond: Parts["respond"] = async ({ conversation }, request, reply) => {
      const named = conversation(request);
      await named.stream(reply, async () => {
        const { position } = await named.send({ text: "hello" });
        const encode = (): string => {
          throw new Error("No such event");
        };
        return { after: position, isOver: false, begin: () => "open\n", encode };
      });
    };
    const errors: string[] = [];
    const logger = {
      debug() {},
      info() {},
      warn() {},
      error: (_fields: object, message: string) => void errors.push(message),
    };
    const { post } = await serve(mine({ respond }), {}, logger);
    const answer = post({ text: "hello" }).then((response) => response.text());
    await expect(answer).rejects.toThrow();
    expect(errors).toEqual(["the stream of a protocol failed"]);
  });

  it.each(["before", "while"])("ends for a client that leaves %s its message is sent", async (when) => {
    const left = Promise.withResolvers<void>();
    const ended = Promise.withResolvers<unknown>();
    const unhandled: unknown[] = [];
    const listen = (error: unknown): void => void unhandled.push(error);
    process.on("unhandledRejection", listen);
    const client = new AbortController();
    const respond: Parts["respond"] = async ({ conversation }, request) => {
      const named = conversation(request);
      request.raw.socket.once("close", () => setImmediate(left.resolve));
      const leave = async (): Promise<void> => {
        client.abort();
        await left.promise;
      };
      const begin = async () => {
        const { position } = await named.send({ text: "hello" });
        await leave();
        return { after: position, isOver: false, encode: () => "" };
      };
      if (when === "before") await leave();
      await named.follow(begin).then(ended.resolve, ended.resolve);
    };
    const { post } = await serve(mine({ respond }));
    await expect(post({ text: "hello" }, { signal: client.signal })).rejects.toThrow();
    expect(await ended.promise).toMatchObject({ code: "client_disconnected" });
    process.off("unhandledRejection", listen);
    expect(unhandled).toEqual([]);
  });

  it("replaces a bundled protocol of the same name", async () => {
    const create = () => ({
      routes: (app: Parameters<Protocol["routes"]>[0]) =>
        void app.post("/api/ai-sdk/chat", { config: { access: "public" } }, () => "mine"),
    });
    const plugin = defineProtocol({ name: "ai-sdk", version: "2.0.0", create });
    const { handle } = await serve(plugin);
    const answer = await handle(new Request("http://here/api/ai-sdk/chat", { method: "POST" }));
    expect([answer.status, await answer.text()]).toEqual([200, "mine"]);
  });

  it("is closed when the server closes", async () => {
    const closed: string[] = [];
    const plugin = defineProtocol({
      name: "mine",
      version: "1.0.0",
      create: (_settings, { name }) => ({ routes() {}, close: () => void closed.push(name) }),
    });
    const { app } = edges.testEdge({}, { protocols: [plugin] });
    await app.ready();
    expect(closed).toEqual([]);
    await app.close();
    expect(closed).toEqual(["mine"]);
  });
});

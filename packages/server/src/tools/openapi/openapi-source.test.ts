import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import swagger from "@fastify/swagger";
import Fastify, { type FastifyInstance } from "fastify";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ManualClock } from "../../../test/manual-clock.ts";
import type { OpenApiSettings } from "../../core/app-settings.ts";
import { Hidden } from "../../core/hidden.ts";
import type { JsonObject } from "../../core/json.ts";
import { SecretMissing, type ToolContext } from "../../core/ports/tool.ts";
import { createOutbound, type Outbound } from "../outbound/outbound.ts";
import { startTestServer, type TestServer } from "../outbound/testing/test-servers.ts";
import { toolTurn } from "../testing/tool-turn.ts";
import type { SourceTool, ToolSource } from "../tool-source.ts";
import { planOpenApi } from "./openapi-source.ts";

interface Line {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly message: string;
}

let clock: ManualClock;
let outbound: Outbound;
let folder: string;
let log: Line[];
const opened: Array<() => unknown> = [];

beforeEach(async () => {
  clock = new ManualClock();
  outbound = createOutbound({ clock });
  folder = await mkdtemp(join(tmpdir(), "openapi-"));
  log = [];
});

afterEach(async () => {
  await outbound.close();
  await Promise.all(opened.splice(0).map((close) => close()));
  await rm(folder, { recursive: true });
});

function open(settings: Partial<OpenApiSettings>, name = "pets"): ToolSource {
  const write = (fields: object, message: string): void => void log.push({ fields: { ...fields }, message });
  const logger = { debug: write, info: write, warn: write, error: write };
  const complete = { document: "", baseURL: null, operations: null, headers: new Hidden({}), ...settings };
  const source = planOpenApi(name, complete, { outbound, clock, logger, random: () => 1 }).create();
  opened.push(() => source.close());
  return source;
}

const noSecret = (name: string): string => {
  throw new SecretMissing(name);
};

function list(source: ToolSource, signal = new AbortController().signal): Promise<readonly SourceTool[]> {
  return source.list({ turn: toolTurn(), secret: noSecret }, signal);
}

function namesOf(tools: readonly SourceTool[]): readonly string[] {
  return tools.map(({ name }) => name);
}

function call(
  tool: SourceTool | undefined,
  input: JsonObject,
  of: Partial<ToolContext> = {},
): Promise<unknown> {
  const context = {
    callId: "call-1",
    signal: new AbortController().signal,
    turn: toolTurn(),
    progress: () => undefined,
  };
  return tool!.execute(input, { ...context, secret: noSecret, ...of });
}

async function documentWith(document: JsonObject): Promise<string> {
  const path = join(folder, "document.json");
  const info = { title: "Test", version: "1" };
  await writeFile(path, JSON.stringify({ openapi: "3.1.0", info, paths: {}, ...document }));
  return path;
}

async function startServer(answer: Parameters<typeof startTestServer>[1]): Promise<[TestServer, string]> {
  const server = await startTestServer("127.0.0.1", answer);
  opened.push(() => server.stop());
  return [server, `http://127.0.0.1:${server.port}`];
}

/** A service like those that there are: it checks its input, and its document is made from the same schemas. */
async function startPets(openapi: "3.0.3" | "3.1.0"): Promise<{ url: string; seen: JsonObject[] }> {
  const seen: JsonObject[] = [];
  const service: FastifyInstance = Fastify();
  await service.register(swagger, { openapi: { openapi, info: { title: "Pets", version: "1" } } });
  const id = { type: "object", properties: { id: { type: "integer" } }, required: ["id"] } as const;
  const pet = {
    type: "object",
    required: ["name"],
    properties: {
      id: { type: "integer" },
      name: { type: "string", minLength: 1 },
      tags: { type: "array", items: { type: "string" } },
    },
  } as const;
  service.addHook("preHandler", async (request) => {
    const { method, url, headers, body } = request;
    if (!url.startsWith("/v1/")) return;
    seen.push({ method, url, headers: { ...headers } as JsonObject, body: (body ?? null) as never });
  });
  service.get(
    "/v1/pets",
    {
      schema: {
        operationId: "listPets",
        summary: "Lists pets.",
        querystring: {
          type: "object",
          properties: {
            limit: { type: "integer", maximum: 100 },
            tag: { type: "array", items: { type: "string" } },
          },
        },
        headers: {
          type: "object",
          properties: { "x-trace": { type: "string" }, authorization: { type: "string" } },
        },
      },
    },
    async (request) => ({ query: request.query }),
  );
  service.get("/v1/pets/:id", { schema: { params: id } }, async (request, reply) => {
    const { id: number } = request.params as { id: number };
    if (number !== 1) return await reply.code(404).send({ error: `no pet ${number}` });
    return { id: number, name: "Ada" };
  });
  service.put(
    "/v1/pets/:id",
    { schema: { operationId: "put pet!", params: id, body: pet } },
    async (request) => ({
      params: request.params,
      body: request.body,
    }),
  );
  service.post(
    "/v1/pets",
    { schema: { operationId: "addPet", body: pet } },
    async (request, reply) => await reply.code(201).send(request.body),
  );
  service.delete(
    "/v1/pets/:id",
    { schema: { operationId: "removePet", params: id } },
    async (_, reply) => await reply.code(204).send(),
  );
  service.get("/openapi.json", { schema: { hide: true } }, async () => service.swagger());
  await service.listen({ host: "127.0.0.1", port: 0 });
  opened.push(() => service.close());
  return { url: service.listeningOrigin, seen };
}

const named = (tools: readonly SourceTool[], name: string): SourceTool | undefined =>
  tools.find((tool) => tool.name === name);

describe.each(["3.0.3", "3.1.0"] as const)("a service whose document is of version %s", (version) => {
  it("is a tool for each operation, with what it does and takes", async () => {
    const { url } = await startPets(version);
    const tools = await list(open({ document: `${url}/openapi.json` }));
    expect(tools.map(({ name, effect }) => [name, effect])).toEqual([
      ["pets_listPets", "read"],
      ["pets_addPet", "unsafe"],
      ["pets_get_v1_pets_id", "read"],
      ["pets_put_pet_", "idempotent"],
      ["pets_removePet", "idempotent"],
    ]);
    expect(named(tools, "pets_listPets")).toMatchObject({
      description: "Lists pets.",
      inputSchema: {
        type: "object",
        properties: {
          limit: { type: "integer", maximum: 100 },
          tag: { type: "array", items: { type: "string" } },
          "x-trace": { type: "string" },
        },
        additionalProperties: false,
      },
    });
    expect(named(tools, "pets_put_pet_")?.inputSchema).toMatchObject({
      required: ["id", "name"],
      properties: {
        id: { type: "integer" },
        id_body: { type: "integer" },
        name: { type: "string" },
        tags: {},
      },
    });
  });

  it("is called as it wants to be", async () => {
    const { url, seen } = await startPets(version);
    const tools = await list(open({ document: `${url}/openapi.json` }));
    expect(
      await call(named(tools, "pets_listPets"), { limit: 5, tag: ["a b", "c&d"], "x-trace": "t" }),
    ).toEqual({
      status: 200,
      body: { query: { limit: 5, tag: ["a b", "c&d"] } },
    });
    expect(seen[0]?.["headers"]).toMatchObject({ "x-trace": "t", "user-agent": "colloquy" });
    const input = { id: 7, id_body: 8, name: "Ada", tags: ["x"] };
    expect(await call(named(tools, "pets_put_pet_"), input, { callId: "call-7" })).toEqual({
      status: 200,
      body: { params: { id: 7 }, body: { id: 8, name: "Ada", tags: ["x"] } },
    });
    expect(seen[1]?.["headers"]).toMatchObject({ "idempotency-key": "call-7" });
    expect(await call(named(tools, "pets_addPet"), { name: "Bob" })).toEqual({
      status: 201,
      body: { name: "Bob" },
    });
    expect(await call(named(tools, "pets_removePet"), { id: 1 })).toEqual({ status: 204, body: null });
  });

  it("answers errors with their status, and input that does not fit with what is wrong", async () => {
    const { url, seen } = await startPets(version);
    const tools = await list(open({ document: `${url}/openapi.json` }));
    const get = named(tools, "pets_get_v1_pets_id");
    await expect(call(get, { id: 2 })).rejects.toThrow(
      /^127\.0\.0\.1:\d+ answered 404: \{"error":"no pet 2"\}$/,
    );
    expect(await get?.checkInput?.({ id: "one" })).toMatch(
      /^The input does not fit the tool pets_get_v1_pets_id: id:/,
    );
    expect(await get?.checkInput?.({ id: 1 })).toBeNull();
    const add = named(tools, "pets_addPet");
    expect(await add?.checkInput?.({})).toContain("name");
    expect(await add?.checkInput?.({ name: "Ada", other: 1 })).toContain("other");
    expect(seen).toHaveLength(1);
  });
});

describe("the tools of an OpenAPI document", () => {
  const operations = (...ids: string[]): JsonObject => ({
    servers: [{ url: "https://api.test" }],
    paths: Object.fromEntries(ids.map((id) => [`/${id}`, { get: { operationId: id } }])),
  });

  it("are those that are chosen; one that there is not is logged", async () => {
    const document = await documentWith(operations("a", "b", "c"));
    const tools = await list(open({ document, operations: ["c", "a", "x"] }));
    expect(tools.map(({ name }) => name)).toEqual(["pets_a", "pets_c"]);
    expect(log[0]).toMatchObject({
      fields: { openapi: "pets", operation: "x", reason: "The document has no such operation." },
    });
  });

  it("have names that models take, each once, the same each time", async () => {
    const long = "x".repeat(100);
    const document = await documentWith(operations("a b", "a-b", "a.b", "a_b", `${long}1`, `${long}2`));
    const names = (await list(open({ document }))).map(({ name }) => name);
    expect(names).toEqual((await list(open({ document }))).map(({ name }) => name));
    expect(names.slice(0, 4)).toEqual(["pets_a_b", "pets_a-b", "pets_a_b_2", "pets_a_b_3"]);
    expect(new Set(names).size).toBe(6);
    for (const name of names) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
  });

  it("are not more than a model can choose from", async () => {
    const document = await documentWith(
      operations(...Array.from({ length: 130 }, (_, index) => `o${index}`)),
    );
    expect(await list(open({ document }))).toHaveLength(128);
    expect(log[0]?.fields["reason"]).toBe(
      'Only the first 128 of 130 operations are taken. Choose with "operations".',
    );
  });

  it("leave out what cannot be offered, and say so", async () => {
    const parameters = [{ name: "a", in: "query", schema: { enum: ["x".repeat(70_000)] } }];
    const document = await documentWith({
      servers: [{ url: "https://api.test" }],
      paths: {
        "/good": { get: { operationId: "good" } },
        "/elsewhere": { get: { operationId: "elsewhere", servers: [{ url: "https://other.test" }] } },
        "/upload": {
          post: { operationId: "upload", requestBody: { required: true, content: { "image/png": {} } } },
        },
        "/broken": { get: { operationId: "broken", parameters: [{ $ref: "#/components/none" }] } },
        "/large": { get: { operationId: "large", parameters } },
      },
    });
    expect((await list(open({ document }))).map(({ name }) => name)).toEqual(["pets_good"]);
    const warned = log.filter(({ message }) => message.startsWith("an operation"));
    expect(warned.map(({ fields }) => fields["operation"])).toEqual([
      "elsewhere",
      "upload",
      "broken",
      "large",
    ]);
    expect(warned[0]?.fields["reason"]).toContain("It is on another server.");
    expect(warned[3]?.fields["reason"]).toContain("Its input takes too long to describe.");
  });

  it("are checked without the patterns of a document, which could take for ever", async () => {
    const schema = { type: "string", pattern: "^(a+)+$" };
    const document = await documentWith({
      servers: [{ url: "https://api.test" }],
      paths: { "/a": { get: { operationId: "a", parameters: [{ name: "q", in: "query", schema }] } } },
    });
    const [tool] = await list(open({ document }));
    expect(tool?.inputSchema.properties).toEqual({ q: schema });
    expect(await tool?.checkInput?.({ q: `${"a".repeat(50)}!` })).toBeNull();
  });
});

describe("the keys of an operator", () => {
  const paths = { "/a": { post: { operationId: "a" } } };

  it("go with each call to the service, secrets of the turn's client in their places", async () => {
    const [server, url] = await startServer((_, response) => response.end('"ok"'));
    const headers = new Hidden({ "X-Key": "Key {{secret.TOKEN}}", "X-Own": "own" });
    const [tool] = await list(open({ document: await documentWith({ paths }), baseURL: url, headers }));
    const secret = (name: string): string => `${name}-of-client`;
    expect(await call(tool, {}, { secret })).toEqual({ status: 200, body: "ok" });
    expect(server.seen[0]?.headers).toMatchObject({ "x-key": "Key TOKEN-of-client", "x-own": "own" });
    await expect(call(tool, {})).rejects.toThrow(SecretMissing);
    expect(server.seen).toHaveLength(1);
  });

  it("go nowhere else: not to where the service redirects, not for its document", async () => {
    const [other, otherUrl] = await startServer((_, response) => response.end("other"));
    const [server, url] = await startServer((request, response) => {
      if (request.url === "/document") response.end(JSON.stringify({ openapi: "3.1.0", info: {}, paths }));
      else response.writeHead(307, { location: `${otherUrl}/b` }).end();
    });
    const headers = new Hidden({ authorization: "Bearer {{secret.TOKEN}}" });
    const [tool] = await list(open({ document: `${url}/document`, headers }));
    await expect(call(tool, {}, { secret: () => "token" })).rejects.toThrow("was refused");
    expect(server.seen.map((request) => request.headers.authorization)).toEqual([undefined, "Bearer token"]);
    expect(other.connections()).toBe(0);
  });

  it("do not go to a server that a fetched document names", async () => {
    const [other, otherUrl] = await startServer((_, response) => response.end("other"));
    const [, url] = await startServer((_, response) =>
      response.end(JSON.stringify({ openapi: "3.1.0", info: {}, servers: [{ url: otherUrl }], paths })),
    );
    const source = open({ document: url, headers: new Hidden({ authorization: "Bearer token" }) });
    expect(namesOf(await list(source))).toEqual(["pets_unavailable"]);
    expect(log[0]?.message).toBe("an OpenAPI document cannot be used");
    expect(other.connections()).toBe(0);
  });

  it("are taken out of what the service says", async () => {
    const headers = new Hidden({ authorization: "Bearer sk-operators-own" });
    const [tool] = await list(
      open({ document: await documentWith({ paths }), baseURL: "https://api.test", headers }),
    );
    expect(JSON.stringify(tool?.scrub?.({ echo: "sk-operators-own" }))).not.toContain("operators");
  });
});

describe("a call that breaks", () => {
  it("says that its outcome is unknown where it may have had an effect", async () => {
    const [, url] = await startServer((_, response) => response.destroy());
    const document = await documentWith({
      paths: {
        "/a": { get: { operationId: "read" }, put: { operationId: "put" }, post: { operationId: "post" } },
      },
    });
    const tools = await list(open({ document, baseURL: url }));
    const broke = /^The connection to 127\.0\.0\.1:\d+ broke before the answer was complete\.$/;
    await expect(call(named(tools, "pets_read"), {})).rejects.toThrow(broke);
    await expect(call(named(tools, "pets_put"), {})).rejects.toThrow(broke);
    await expect(call(named(tools, "pets_post"), {})).rejects.toThrow("Its outcome is unknown");
  });

  it("before anything was sent had no effect, and does not say otherwise", async () => {
    const [server, url] = await startServer((_, response) => response.end());
    await server.stop();
    const document = await documentWith({ paths: { "/a": { post: { operationId: "post" } } } });
    const [tool] = await list(open({ document, baseURL: url }));
    opened.pop();
    const error = await call(tool, {}).catch((reason: unknown) => reason);
    expect(String(error)).toMatch(/cannot be reached: nothing answers there\.$/);
  });

  it("is ended when the turn ends", async () => {
    const arrived = Promise.withResolvers<void>();
    const [, url] = await startServer(() => arrived.resolve());
    const document = await documentWith({ paths: { "/a": { get: { operationId: "a" } } } });
    const [tool] = await list(open({ document, baseURL: url }));
    const stop = new AbortController();
    const calling = call(tool, {}, { signal: stop.signal });
    await arrived.promise;
    stop.abort(new Error("The turn is over."));
    await expect(calling).rejects.toThrow("The turn is over.");
  });
});

describe("a document that cannot be used", () => {
  const good = JSON.stringify({ openapi: "3.1.0", info: {}, paths: { "/a": { get: { operationId: "a" } } } });

  it("has one tool that says so, is logged with what is wrong, and is read again after a while that grows", async () => {
    let broken = true;
    const [server, url] = await startServer((_, response) => response.end(broken ? "openapi: [" : good));
    const source = open({ document: `${url}/a?key=hidden` });
    expect(namesOf(await list(source))).toEqual(["pets_unavailable"]);
    expect(namesOf(await list(source))).toEqual(["pets_unavailable"]);
    expect(server.seen).toHaveLength(1);
    expect(log).toHaveLength(1);
    expect(log[0]?.fields).toMatchObject({ openapi: "pets", document: `${url}/a`, retryInMs: 1_000 });
    expect((log[0]!.fields["err"] as Error).message).toMatch(/^It cannot be understood: .*\(/);
    await clock.advance(999);
    expect([namesOf(await list(source)), server.seen.length]).toEqual([["pets_unavailable"], 1]);
    const [standIn] = await list(source);
    await expect(call(standIn, {})).rejects.toThrow(
      '"pets" cannot be read at the moment. Nothing was called.',
    );
    await clock.advance(1);
    expect([namesOf(await list(source)), server.seen.length]).toEqual([["pets_unavailable"], 2]);
    expect(log[1]?.fields["retryInMs"]).toBe(2_000);
    broken = false;
    await clock.advance(2_000);
    expect(await call(standIn, {})).toMatch(/can be used again/);
    const tools = await list(source);
    expect(namesOf(tools)).toEqual(["pets_a"]);
    expect(await list(source)).toBe(tools);
    expect(server.seen).toHaveLength(3);
  });

  it("is read once however many turns ask, and none waits for it longer than five seconds", async () => {
    const arrived = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<void>();
    const [server, url] = await startServer((_, response) => {
      arrived.resolve();
      void answer.promise.then(() => response.end(good));
    });
    const source = open({ document: url });
    const both = Promise.all([list(source), list(source)]);
    await arrived.promise;
    await clock.advance(5_000);
    expect((await both).map(namesOf)).toEqual([["pets_unavailable"], ["pets_unavailable"]]);
    const stop = new AbortController();
    const impatient = list(source, stop.signal);
    stop.abort();
    expect(namesOf(await impatient)).toEqual(["pets_unavailable"]);
    const patient = list(source);
    answer.resolve();
    expect(namesOf(await patient)).toEqual(["pets_a"]);
    expect([server.seen.length, clock.timers]).toEqual([1, 0]);
  });

  it("is not waited for, and not complained about, when the service stops", async () => {
    const arrived = Promise.withResolvers<void>();
    const [, url] = await startServer(() => arrived.resolve());
    const source = open({ document: url });
    const listing = list(source);
    await arrived.promise;
    await source.close();
    expect([namesOf(await listing), log]).toEqual([["pets_unavailable"], []]);
  });

  it("is read again by a reload: nothing is kept for it", () => {
    const settings = { document: "/none", baseURL: null, operations: null, headers: new Hidden({}) };
    const logger = {
      debug: () => undefined,
      info: () => undefined,
      warn: () => undefined,
      error: () => undefined,
    };
    expect(planOpenApi("pets", settings, { outbound, clock, logger }).key).toBeNull();
  });
});

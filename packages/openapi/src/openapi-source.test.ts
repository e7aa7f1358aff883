import { describe, expect, it } from "vitest";
import { startPets } from "../../server/test/pets-service.ts";
import type { JsonObject } from "@colloquy/engine/internal/core/json";
import { call, list, named, namesOf, useOpenApi } from "./testing/use-openapi.ts";

const openapi = useOpenApi();
const { closeLater, documentWith, log, open, startServer } = openapi;

describe.each(["3.0.3", "3.1.0"] as const)("a service with a document of version %s", (version) => {
  it("has a tool for each operation, with its effect and inputs", async () => {
    const { url } = await startPets(version, closeLater);
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

  it("calls operations as its document describes", async () => {
    const { url, seen } = await startPets(version, closeLater);
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

  it("reports errors with their status, and invalid input with the reason", async () => {
    const { url, seen } = await startPets(version, closeLater);
    const tools = await list(open({ document: `${url}/openapi.json` }));
    const get = named(tools, "pets_get_v1_pets_id");
    await expect(call(get, { id: 2 })).rejects.toThrow(
      /^127\.0\.0\.1:\d+ answered 404: \{"error":"no pet 2"\}$/,
    );
    expect(await get?.checkInput?.({ id: "one" })).toMatch(
      /^The input does not fit the tool pets_get_v1_pets_id: \/id must be integer\.$/,
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

  it("are limited to the selected operations, and log unknown ones", async () => {
    const document = await documentWith(operations("a", "b", "c"));
    const tools = await list(open({ document, operations: ["c", "a", "x"] }));
    expect(tools.map(({ name }) => name)).toEqual(["pets_a", "pets_c"]);
    expect(log[0]).toMatchObject({
      fields: { openapi: "pets", operation: "x", reason: "The document has no such operation." },
    });
  });

  it("have valid, unique and stable names", async () => {
    const long = "x".repeat(100);
    const document = await documentWith(operations("a b", "a-b", "a.b", "a_b", `${long}1`, `${long}2`));
    const names = (await list(open({ document }))).map(({ name }) => name);
    expect(names).toEqual((await list(open({ document }))).map(({ name }) => name));
    expect(names.slice(0, 4)).toEqual(["pets_a_b", "pets_a-b", "pets_a_b_2", "pets_a_b_3"]);
    expect(new Set(names).size).toBe(6);
    for (const name of names) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
  });

  it("are limited to 128", async () => {
    const document = await documentWith(
      operations(...Array.from({ length: 130 }, (_, index) => `o${index}`)),
    );
    expect(await list(open({ document }))).toHaveLength(128);
    expect(log[0]?.fields["reason"]).toBe(
      'Only the first 128 of 130 operations are taken. Choose with "operations".',
    );
  });

  it("omit unsupported operations, and log the reason", async () => {
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

  it("are checked without the document's patterns, which could run forever", async () => {
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

describe("an unavailable document", () => {
  const good = JSON.stringify({ openapi: "3.1.0", info: {}, paths: { "/a": { get: { operationId: "a" } } } });

  it("is replaced by a stand-in, logged with the reason, and read again with backoff", async () => {
    let broken = true;
    const [server, url] = await startServer((_, response) => response.end(broken ? "openapi: [" : good));
    const source = open({ document: `${url}/a?key=hidden` });
    expect(namesOf(await list(source))).toEqual(["pets_unavailable"]);
    expect(namesOf(await list(source))).toEqual(["pets_unavailable"]);
    expect(server.seen).toHaveLength(1);
    expect(log).toHaveLength(1);
    expect(log[0]?.fields).toMatchObject({ openapi: "pets", document: `${url}/a`, retryInMs: 2_000 });
    expect((log[0]!.fields["err"] as Error).message).toMatch(/^It cannot be parsed: .*\(/);
    await openapi.clock.advance(1_999);
    expect([namesOf(await list(source)), server.seen.length]).toEqual([["pets_unavailable"], 1]);
    const [standIn] = await list(source);
    await expect(call(standIn, {})).rejects.toThrow(
      "The description of their service cannot be read at the moment. Nothing was called.",
    );
    await openapi.clock.advance(1);
    expect([namesOf(await list(source)), server.seen.length]).toEqual([["pets_unavailable"], 2]);
    expect(log[1]?.fields["retryInMs"]).toBe(4_000);
    broken = false;
    await openapi.clock.advance(4_000);
    expect(await call(standIn, {})).toMatch(/can be used again/);
    const tools = await list(source);
    expect(namesOf(tools)).toEqual(["pets_a"]);
    expect(await list(source)).toBe(tools);
    expect(server.seen).toHaveLength(3);
  });

  it("is read once for concurrent turns, which wait for at most five seconds", async () => {
    const arrived = Promise.withResolvers<void>();
    const answer = Promise.withResolvers<void>();
    const [server, url] = await startServer((_, response) => {
      arrived.resolve();
      void answer.promise.then(() => response.end(good));
    });
    const source = open({ document: url });
    const both = Promise.all([list(source), list(source)]);
    await arrived.promise;
    await openapi.clock.advance(5_000);
    expect((await both).map(namesOf)).toEqual([["pets_unavailable"], ["pets_unavailable"]]);
    const stop = new AbortController();
    const impatient = list(source, stop.signal);
    stop.abort();
    expect(namesOf(await impatient)).toEqual(["pets_unavailable"]);
    const patient = list(source);
    answer.resolve();
    expect(namesOf(await patient)).toEqual(["pets_a"]);
    expect([server.seen.length, openapi.clock.timers]).toEqual([1, 0]);
  });

  it("is neither awaited nor logged when the service stops", async () => {
    const arrived = Promise.withResolvers<void>();
    const [, url] = await startServer(() => arrived.resolve());
    const source = open({ document: url });
    const listing = list(source);
    await arrived.promise;
    await source.close?.();
    expect([namesOf(await listing), log]).toEqual([["pets_unavailable"], []]);
  });
});

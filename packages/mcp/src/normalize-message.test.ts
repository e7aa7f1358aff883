import { describe, expect, it } from "vitest";
import type { JsonObject, JsonValue } from "@colloquy/engine/internal/core/json";
import { normalizeMessage, omissionReason } from "./normalize-message.ts";
import { useScriptedServer } from "./testing/use-scripted-server.ts";

const answer = (result: JsonValue, more: object = {}): JsonObject => ({
  jsonrpc: "2.0",
  id: 1,
  result,
  ...more,
});
const resultOf = (result: JsonValue): JsonObject =>
  (normalizeMessage(answer(result)) as JsonObject)["result"] as JsonObject;
const toolOf = (tool: JsonValue): JsonObject => (resultOf({ tools: [tool] })["tools"] as JsonObject[])[0]!;
const OBJECT = { type: "object" };

describe("normalizeMessage", () => {
  it("treats null as absent in the envelope, cursors and metadata", () => {
    expect(normalizeMessage(answer({ tools: null, nextCursor: null, _meta: null }, { error: null }))).toEqual(
      answer({ tools: [] }),
    );
    expect(resultOf({ tools: [], nextCursor: "", ttlMs: null })).toEqual({ tools: [] });
    expect(resultOf({ tools: [], nextCursor: "2" })).toEqual({ tools: [], nextCursor: "2" });
    const progress = { jsonrpc: "2.0", method: "notifications/progress" };
    expect(
      normalizeMessage({
        ...progress,
        params: { progressToken: 1, progress: 1, total: null, message: null },
      }),
    ).toEqual({ ...progress, params: { progressToken: 1, progress: 1 } });
  });

  it("accepts errors with an invalid code, message or id", () => {
    expect(
      normalizeMessage({ jsonrpc: "2.0", id: null, error: { code: "E1", message: null, data: null } }),
    ).toEqual({
      jsonrpc: "2.0",
      error: { code: -32_603, message: "E1" },
    });
    expect(normalizeMessage({ jsonrpc: "2.0", id: 1, result: null, error: "gone" })).toEqual({
      jsonrpc: "2.0",
      id: 1,
      error: { code: -32_603, message: "gone" },
    });
  });

  it("completes server information and capabilities", () => {
    expect(
      resultOf({
        protocolVersion: "2025-06-18",
        capabilities: { tools: true, prompts: null, logging: {}, resources: false },
        serverInfo: { name: "s", version: null, icons: [null] },
        instructions: null,
      }),
    ).toEqual({
      protocolVersion: "2025-06-18",
      capabilities: { tools: {}, logging: {} },
      serverInfo: { name: "s", version: "unknown" },
    });
  });

  it("keeps tools with null or invalid optional fields", () => {
    const odd = {
      name: "a",
      title: null,
      description: 5,
      annotations: { readOnlyHint: true, idempotentHint: null, title: ["x"] },
      outputSchema: null,
      icons: [{ src: null }],
      execution: { taskSupport: "perhaps" },
      _meta: null,
    };
    expect(toolOf({ ...odd, inputSchema: null })).toEqual({
      name: "a",
      inputSchema: OBJECT,
      annotations: { readOnlyHint: true },
    });
    expect(toolOf({ ...odd, annotations: null, inputSchema: { properties: null, required: true } })).toEqual({
      name: "a",
      inputSchema: OBJECT,
    });
  });

  it("keeps null values in schemas", () => {
    const inputSchema = { ...OBJECT, properties: { a: { enum: ["x", null], default: null } } };
    expect(toolOf({ name: "a", inputSchema })["inputSchema"]).toEqual(inputSchema);
    expect(resultOf({ content: null, structuredContent: { a: null }, isError: null })).toEqual({
      content: [],
      structuredContent: { a: null },
    });
  });

  it.each([
    [null, "is not an object"],
    [{ inputSchema: OBJECT }, "has no name"],
    [{ name: "a", inputSchema: { type: "string" } }, "takes string, and MCP tools must take an object"],
    [{ name: "a", inputSchema: "none" }, "has an input schema that is not an object"],
  ])("marks an invalid tool: %j", (tool, reason) => {
    expect(omissionReason(toolOf(tool as JsonValue) as object)).toBe(reason);
  });

  it("keeps valid content blocks beside unknown ones", () => {
    const content: JsonValue = [
      null,
      { type: "text", text: "one", annotations: null, _meta: null },
      { type: "hologram", size: 3 },
      { type: "image", data: "no base64!", mimeType: "image/png" },
      { type: "image", data: "AAAA", mimeType: null },
      { type: "resource_link", uri: "file:///a", name: null, description: null },
      { type: "resource", resource: { uri: "file:///a", mimeType: null, text: "two" } },
    ];
    expect(resultOf({ content })["content"]).toEqual([
      { type: "text", text: "one" },
      { type: "text", text: '{"type":"hologram","size":3}' },
      { type: "text", text: '{"type":"image","data":"no base64!","mimeType":"image/png"}' },
      { type: "image", data: "AAAA", mimeType: "application/octet-stream" },
      { type: "resource_link", uri: "file:///a", name: "file:///a" },
      { type: "resource", resource: { uri: "file:///a", text: "two" } },
    ]);
  });
});

const scripted = useScriptedServer();

describe("an invalid entry in a tool list", () => {
  it("is omitted alone, and reported with its reason", async () => {
    scripted.server.tools = [
      null as never,
      { name: "text", inputSchema: { type: "string" } },
      { name: "work", description: null, inputSchema: null, annotations: null, outputSchema: null },
    ];
    const tools = scripted.open();
    expect((await tools.open()).definitions.map(({ name }) => name)).toEqual(["srv_work"]);
    expect(await tools.call("srv_work", {})).toEqual({ output: "done", isError: false });
    expect(tools.toolset.sources("default")).toMatchObject([
      {
        state: "working",
        tools: 1,
        problem:
          "Tools are left out: tool 1 of the list is not an object; text takes string, and MCP tools must take an object",
      },
    ]);
    await tools.toolset.close();
  });

  it("does not affect servers that send null for optional fields", async () => {
    scripted.server.before = ({ method, id }, response) => {
      if (method !== "initialize" && method !== "tools/list") return undefined;
      const result =
        method === "initialize"
          ? {
              protocolVersion: "2025-06-18",
              capabilities: { tools: { listChanged: null }, prompts: null, logging: null },
              serverInfo: { name: "s", title: null, version: "1" },
              instructions: null,
              _meta: null,
            }
          : {
              tools: [{ name: "work", inputSchema: { type: "object", required: null } }],
              nextCursor: null,
              _meta: null,
            };
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(
        `event: message\ndata: ${JSON.stringify({ jsonrpc: "2.0", id, result, error: null })}\n\n`,
      );
      return "answered";
    };
    scripted.server.call = () => ({
      content: [{ type: "text", text: "done", annotations: null }],
      structuredContent: null,
      isError: null,
      _meta: null,
    });
    const tools = scripted.open();
    expect(await tools.call("srv_work", {})).toEqual({ output: "done", isError: false });
    await tools.toolset.close();
  });
});

describe("a server with unusable responses", () => {
  it.each([
    ["401", 401, "refused the connection with status 401"],
    ["500", 500, "answered with status 500"],
    [
      "an error of the protocol",
      { error: { code: -32_000, message: "no licence" } },
      "answered with an error: no licence",
    ],
    ["no list", { result: { tools: "none" } }, "answered, but not with what the protocol allows"],
  ])("is reported with a specific reason: %s", async (_case, reply, reason) => {
    scripted.server.before = ({ method, id }, response) => {
      if (method !== "tools/list") return undefined;
      const body = typeof reply === "number" ? {} : { jsonrpc: "2.0", id, ...reply };
      response.writeHead(typeof reply === "number" ? reply : 200, { "content-type": "application/json" });
      response.end(JSON.stringify(body));
      return "answered";
    };
    const tools = scripted.open();
    const [standIn] = (await tools.open()).definitions;
    expect(standIn?.description).toContain(`Their server ${reason}. Call this`);
    const { output } = await tools.call("srv_unavailable");
    expect(output).toBe(`Their server ${reason}. Nothing was called.`);
    expect(JSON.stringify(tools.toolset.sources("default"))).not.toContain("cannot be reached");
    expect(JSON.stringify(tools.logger.lines)).not.toContain("cannot be reached");
    await tools.toolset.close();
  });
});

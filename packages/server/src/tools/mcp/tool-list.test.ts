import { describe, expect, it } from "vitest";
import { until } from "./testing/until.ts";
import { useScriptedServer } from "./testing/use-scripted-server.ts";

const scripted = useScriptedServer();

describe("a list of tools", () => {
  it("is renewed when the server says so, and stays the same array while it says the same", async () => {
    const tools = scripted.open();
    const { definitions } = await tools.open();
    await until(() => scripted.server.streams.length === 1);
    // When the third list is asked for, the second has been taken.
    await until(async () => {
      scripted.server.notify("notifications/tools/list_changed");
      await scripted.clock.advance(1_000);
      return scripted.server.of("tools/list").length === 3;
    });
    expect((await tools.open()).definitions).toBe(definitions);
    scripted.server.tools = [...scripted.server.tools, { name: "rest", inputSchema: { type: "object" } }];
    scripted.server.notify("notifications/tools/list_changed");
    await until(async () => {
      await scripted.clock.advance(1_000);
      return (await tools.open()).definitions.length === 2;
    });
    await tools.registry.close();
  });

  it("leaves out what cannot be checked and the second of two names, and keeps the rest", async () => {
    scripted.server.tools = [
      { name: "odd", inputSchema: { type: "object", properties: { a: { type: "banana" } } } },
      { name: "get.it", inputSchema: { type: "object" } },
      { name: "get it", inputSchema: { type: "object" } },
      { name: "n".repeat(200), inputSchema: { type: "object" } },
    ];
    const tools = scripted.open();
    const names = (await tools.open()).definitions.map(({ name }) => name);
    expect(names).toEqual(["srv_get_it", expect.stringMatching(/^srv_n{51}_[0-9a-f]{8}$/)]);
    const warned = tools.logger.lines.filter(({ level }) => level === "warn").map(({ message }) => message);
    expect(warned).toEqual(["a tool of an MCP server is left out", "a tool is left out"]);
    await tools.registry.close();
  });

  it("leaves out a tool that is nested without end, and no other", async () => {
    const levels = 20_000;
    const deep = `${'{"items":'.repeat(levels)}{}${"}".repeat(levels)}`;
    const listed = `[{"name":"deep","inputSchema":{"type":"object","properties":{"a":${deep}}}},{"name":"work","inputSchema":{"type":"object"}}]`;
    scripted.server.before = ({ method, id }, response) => {
      if (method !== "tools/list") return undefined;
      response.writeHead(200, { "content-type": "application/json" });
      response.end(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"tools":${listed}}}`);
      return "answered";
    };
    const tools = scripted.open();
    expect((await tools.open()).definitions.map(({ name }) => name)).toEqual(["srv_work"]);
    expect(JSON.stringify(tools.logger.lines)).toContain("deep is nested more than 64 levels deep");
    await tools.registry.close();
  });

  it("is told to models without what no provider takes", async () => {
    const inputSchema = { type: "object", properties: { a: { pattern: "(" } } };
    scripted.server.tools = [{ name: "work", description: "a\0b", inputSchema }];
    const tools = scripted.open();
    expect((await tools.open()).definitions).toMatchObject([
      { description: "ab", inputSchema: { type: "object", properties: { a: {} } } },
    ]);
    expect((await tools.open()).definitions[0]?.inputSchema.properties?.["a"]).toEqual({});
    await tools.registry.close();
  });

  it("has schemas that cannot hold up the process", async () => {
    let nested: object = { type: "string" };
    for (let depth = 0; depth < 8; depth += 1) nested = { anyOf: [nested, nested] };
    scripted.server.tools = [
      {
        name: "work",
        inputSchema: {
          type: "object",
          properties: { slow: { type: "string", pattern: "^(a+)+$" }, nested, loop: { $ref: "#" } },
          allOf: [{ $ref: "#" }],
        },
      },
    ];
    const tools = scripted.open();
    const input = { slow: `${"a".repeat(40)}!`, nested: 5, loop: { loop: {} } };
    expect(await tools.call("srv_work", input)).toEqual({ output: "done", isError: false });
    await tools.registry.close();
  });
});

import { describe, expect, it } from "vitest";
import { until } from "./testing/until.ts";
import { useScriptedServer } from "./testing/use-scripted-server.ts";

const scripted = useScriptedServer();

describe("the tool list of a server", () => {
  it("is refreshed on list_changed, and stays the same array while its content is the same", async () => {
    const tools = scripted.open();
    const { definitions } = await tools.open();
    await until(() => scripted.server.streams.length === 1);
    // When the third list is requested, the second one has been processed.
    await until(async () => {
      scripted.server.notify("notifications/tools/list_changed");
      await scripted.clock.advance(1_000);
      return scripted.server.of("tools/list").length >= 3;
    });
    expect((await tools.open()).definitions).toBe(definitions);
    scripted.server.tools = [...scripted.server.tools, { name: "rest", inputSchema: { type: "object" } }];
    scripted.server.notify("notifications/tools/list_changed");
    await until(async () => {
      await scripted.clock.advance(1_000);
      return (await tools.open()).definitions.length === 2;
    });
    await tools.toolset.close();
  });

  it("keeps tools with an odd schema, and all whose names become equal", async () => {
    scripted.server.tools = [
      { name: "odd", inputSchema: { type: "object", properties: { a: { type: "banana" } } } },
      { name: "get.it", inputSchema: { type: "object" } },
      { name: "get it", inputSchema: { type: "object" } },
      { name: "n".repeat(200), inputSchema: { type: "object" } },
    ];
    const tools = scripted.open();
    const names = (await tools.open()).definitions.map(({ name }) => name);
    expect(names).toEqual([
      "srv_odd",
      expect.stringMatching(/^srv_get_it_[0-9a-f]{8}$/),
      expect.stringMatching(/^srv_get_it_[0-9a-f]{8}$/),
      expect.stringMatching(/^srv_n{51}_[0-9a-f]{8}$/),
    ]);
    expect(new Set(names).size).toBe(4);
    scripted.server.call = ({ params }) => ({ content: [{ type: "text", text: params["name"] }] });
    expect(await tools.call(names[1]!)).toMatchObject({ output: "get.it" });
    expect(await tools.call(names[2]!)).toMatchObject({ output: "get it" });
    expect(tools.logger.lines.filter(({ level }) => level === "warn")).toEqual([]);
    await tools.toolset.close();
  });

  it("omits a tool that is nested too deep, and no other", async () => {
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
    await tools.toolset.close();
  });

  it("has clean text", async () => {
    const inputSchema = { type: "object", properties: { "a\0": { title: "b\ud800" } } };
    scripted.server.tools = [{ name: "work", title: "c\0d", description: "a\0b", inputSchema }];
    const tools = scripted.open();
    expect((await tools.open()).definitions).toMatchObject([
      {
        title: "cd",
        description: "ab",
        inputSchema: { type: "object", properties: { a: { title: "b\ufffd" } } },
      },
    ]);
    await tools.toolset.close();
  });

  it("checks inputs within the bounds, and leaves larger ones to the server", async () => {
    const anyOf = Array.from({ length: 16 }, (_, n) => ({
      anyOf: Array.from({ length: 16 }, (_, m) => ({ type: "string", const: `${n} ${m}` })),
    }));
    const list = { type: "array", items: { anyOf } };
    const properties = { list, slow: { type: "string", pattern: "^(a+)+$" }, loop: { $ref: "#" } };
    scripted.server.tools = [
      { name: "work", inputSchema: { type: "object", properties, allOf: [{ $ref: "#" }] } },
    ];
    const tools = scripted.open();
    const input = (count: number) => ({
      list: Array.from({ length: count }, (_, index) => index),
      slow: `${"a".repeat(40)}!`,
      loop: { loop: {} },
    });
    expect(await tools.call("srv_work", input(1))).toEqual({
      output: expect.stringContaining("The input does not fit the tool srv_work: /list/0 must be string"),
      isError: true,
    });
    expect(await tools.call("srv_work", input(0))).toEqual({ output: "done", isError: false });
    expect(await tools.call("srv_work", input(16_000))).toEqual({ output: "done", isError: false });
    await tools.toolset.close();
  });

  it("checks inputs and outputs against thousands of types", async () => {
    const items = { type: Array.from({ length: 2_250 }, () => "null") };
    const schema = { type: "object", properties: { list: { type: "array", items } } };
    scripted.server.tools = [{ name: "work", inputSchema: schema, outputSchema: schema }];
    scripted.server.call = () => ({ content: [], structuredContent: { list: [1] } });
    const tools = scripted.open();
    expect(await tools.call("srv_work", { list: [1] })).toMatchObject({
      output: expect.stringContaining("/list/0 must be null"),
    });
    expect(await tools.call("srv_work", { list: [null] })).toMatchObject({
      output: expect.stringContaining("not what it has announced (/list/0 must be null)"),
    });
    await tools.toolset.close();
  });
});

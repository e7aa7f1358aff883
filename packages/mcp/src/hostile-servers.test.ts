// Slow, wrong and hostile servers: each affects only its own calls, with an error; nothing hangs or grows.

import { describe, expect, it } from "vitest";
import { until } from "./testing/until.ts";
import { ScriptedMcp, sendResult, writeMessage, writeProgress } from "./testing/scripted-mcp.ts";
import { textResult, useScriptedServer } from "./testing/use-scripted-server.ts";

const scripted = useScriptedServer();

describe("a call to a faulty server", () => {
  it("times out, and its connection is closed", async () => {
    scripted.server.call = () => undefined;
    const tools = scripted.open();
    const outcome = tools.call("srv_work");
    await until(() => scripted.server.of("tools/call").length === 1);
    await scripted.clock.advance(60_000);
    expect((await outcome).output).toMatch(/^The tool srv_work took longer than 60 s/);
    await scripted.server.of("tools/call")[0]!.closed;
    scripted.server.call = () => textResult("fine");
    expect((await tools.call("srv_work")).output).toBe("fine");
    await tools.toolset.close();
  });

  it.each([
    ["before it responds", false],
    ["within its response", true],
  ])("may have had its effect if the server dies %s", async (_case, begun) => {
    scripted.server.call = (request, response) => {
      if (begun) writeProgress(response, request, 1);
      setImmediate(() => response.destroy());
      return undefined;
    };
    const tools = scripted.open();
    const { output, isError } = await tools.call("srv_work");
    expect(isError).toBe(true);
    expect(output).toBe(
      'The connection to the MCP server "srv" broke before the tool answered. It may have had its effect.',
    );
    await tools.toolset.close();
  });

  it("fails at once if the stream ends without a response", async () => {
    scripted.server.call = (request, response) => {
      writeProgress(response, request, 1);
      response.end();
      return undefined;
    };
    const tools = scripted.open();
    expect((await tools.call("srv_work")).output).toMatch(/broke before the tool answered/);
    await tools.toolset.close();
  });

  it.each([
    ["a number", 5, "not with what the protocol allows"],
    ["null", null, "not with what the protocol allows"],
    ["content that is a string", { content: "x" }, "not with what the protocol allows"],
    ["content of an unknown type", { content: [{ type: "hologram" }] }, "not with what the protocol allows"],
    ["an error", { ...textResult("no such city"), isError: true }, "no such city"],
    ["an error without content", { content: [], isError: true }, "null"],
  ])("reports a response of %s as an error", async (_case, result, said) => {
    scripted.server.call = () => result;
    const tools = scripted.open();
    const { output, isError } = await tools.call("srv_work");
    expect(isError).toBe(true);
    expect(output).toContain(said);
    scripted.server.call = () => textResult("fine");
    expect((await tools.call("srv_work")).output).toBe("fine");
    await tools.toolset.close();
  });

  it("reports structured content that violates the announced schema, with its text", async () => {
    const outputSchema = {
      type: "object",
      properties: { degrees: { type: "number" } },
      required: ["degrees"],
    };
    scripted.server.tools = [{ name: "work", inputSchema: { type: "object" }, outputSchema }];
    scripted.server.call = () => ({ ...textResult("warm"), structuredContent: { degrees: "many" } });
    const tools = scripted.open();
    const { output, isError } = await tools.call("srv_work");
    expect(isError).toBe(true);
    expect(output).toMatch(
      /^The tool ran, but its answer is not what it has announced \(\/degrees must be number\)\. It said: warm$/,
    );
    scripted.server.call = () => ({ ...textResult("warm"), structuredContent: { degrees: 30 } });
    expect((await tools.call("srv_work")).output).toEqual({ degrees: 30 });
    await tools.toolset.close();
  });

  it("is refused with the server's message, which is scrubbed before it is cut", async () => {
    scripted.server.before = ({ method, id }, response) => {
      if (method !== "tools/call") return undefined;
      response.writeHead(200, { "content-type": "application/json" });
      const error = { code: -32_602, message: `bad ${"operators-key-1 ".repeat(400)}` };
      response.end(JSON.stringify({ jsonrpc: "2.0", id, error }));
      return "answered";
    };
    const tools = scripted.open({ Authorization: "Bearer operators-key-1" });
    const { output } = await tools.call("srv_work");
    expect(output).toMatch(/^The MCP server "srv" refused the call: .*bad \[secret\] \[secret\]/);
    expect(output).not.toContain("oper");
    expect(JSON.stringify(output).length).toBeLessThan(5_000);
    await tools.toolset.close();
  });

  it("has the same idempotency key when it is repeated", async () => {
    const tools = scripted.open();
    await tools.call("srv_work", {}, { callId: "call-42" });
    await tools.call("srv_work", {}, { callId: "call-42" });
    const keys = scripted.server.of("tools/call").map(({ params }) => params["_meta"]);
    expect(keys).toEqual([
      expect.objectContaining({ "idempotency-key": "call-42" }),
      expect.objectContaining({ "idempotency-key": "call-42" }),
    ]);
    await tools.toolset.close();
  });
});

describe("a flood", () => {
  it("cuts response text to the output limit", async () => {
    const tools = scripted.open();
    scripted.server.call = () => textResult("x".repeat(1_000_000));
    const cut = await tools.call("srv_work");
    expect(cut.isError).toBe(false);
    expect(cut.output).toMatch(/\[Cut: this is the beginning of 1000002 bytes\.\]$/);
    await tools.toolset.close();
  });

  it("limits progress, and ends the connection if it does not stop", async () => {
    scripted.server.call = (request, response) => {
      const more = (progress: number): void => {
        if (response.destroyed) return;
        for (let count = 0; count < 100; count += 1) writeProgress(response, request, progress);
        setImmediate(() => more(progress + 1));
      };
      more(1);
      return undefined;
    };
    const heard: unknown[] = [];
    const tools = scripted.open();
    const outcome = await tools.call("srv_work", {}, { onProgress: (value) => void heard.push(value) });
    expect(outcome.output).toMatch(/broke before the tool answered/);
    expect(heard).toHaveLength(20);
    await tools.toolset.close();
  });

  it("limits tools to 128 over any number of pages, and omits or cuts oversized entries", async () => {
    let page = 0;
    scripted.server.before = (request, response) => {
      if (request.method !== "tools/list") return undefined;
      page += 1;
      const tools = Array.from({ length: 10 }, (_, index) => ({
        name: `tool-${page}-${index}`,
        description: index === 0 ? "d".repeat(10_000) : "",
        inputSchema: index === 1 ? { type: "object", description: "x".repeat(100_000) } : { type: "object" },
      }));
      sendResult(response, request, { tools, nextCursor: String(page) });
      return "answered";
    };
    const tools = scripted.open();
    const { definitions } = await tools.open();
    expect(definitions).toHaveLength(128);
    expect(definitions[0]?.description).toHaveLength(4_001);
    expect(definitions.map(({ name }) => name)).not.toContain("srv_tool-1-1");
    expect(page).toBeLessThan(20);
    await tools.toolset.close();
  });

  it("causes one tools/list a second for list_changed notifications", async () => {
    const tools = scripted.open();
    await tools.open();
    await until(() => scripted.server.streams.length === 1);
    for (let count = 0; count < 50; count += 1) {
      scripted.server.notify("notifications/tools/list_changed");
      await tools.call("srv_work");
    }
    expect(scripted.server.of("tools/list")).toHaveLength(1);
    await scripted.clock.advance(1_000);
    await until(() => scripted.server.of("tools/list").length === 2);
    await tools.toolset.close();
  });
});

describe("the operator's keys", () => {
  it("are sent to the server only, not to a redirect target, and are scrubbed from its responses", async () => {
    const elsewhere = await new ScriptedMcp().start();
    scripted.server.call = ({ headers }) => textResult(`You sent ${headers.authorization}`);
    const tools = scripted.open({ Authorization: "Bearer operators-key-1" });
    expect((await tools.call("srv_work")).output).toBe("You sent [secret]");
    scripted.server.before = ({ method }, response) => {
      if (method !== "tools/call") return undefined;
      response.writeHead(307, { location: elsewhere.url }).end();
      return "answered";
    };
    expect((await tools.call("srv_work")).isError).toBe(true);
    expect(elsewhere.requests).toEqual([]);
    await tools.toolset.close();
    await elsewhere.stop();
  });
});

it("bounds the messages of an unsolicited stream", async () => {
  const tools = scripted.open();
  await tools.open();
  await until(() => scripted.server.streams.length === 1);
  const [stream] = scripted.server.streams;
  const more = (): void => {
    if (stream!.destroyed) return;
    for (let count = 0; count < 100; count += 1) {
      writeMessage(stream!, { jsonrpc: "2.0", method: "notifications/message", params: {} });
    }
    setImmediate(more);
  };
  more();
  await until(() => stream!.destroyed);
  expect(tools.logger.lines).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ level: "warn", message: "the connection to an MCP server is lost" }),
    ]),
  );
  await tools.toolset.close();
});

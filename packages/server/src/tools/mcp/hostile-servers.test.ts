// Servers that are down, slow, wrong or hostile: each costs its own calls, and says why; nothing hangs, nothing grows.

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ManualClock } from "../../../test/manual-clock.ts";
import type { ToolEffect } from "../../core/ports/tool.ts";
import { httpServer, mcpTools } from "./testing/opened-mcp.ts";
import { until } from "./testing/until.ts";
import { ScriptedMcp, sendResult, writeMessage, writeProgress } from "./testing/scripted-mcp.ts";

let server: ScriptedMcp;
let clock: ManualClock;

beforeEach(async () => {
  clock = new ManualClock();
  server = await new ScriptedMcp().start();
});
afterEach(() => server.stop());

function open(
  headers: Readonly<Record<string, string>> = {},
  effects: Readonly<Record<string, ToolEffect>> = {},
) {
  return mcpTools({ srv: httpServer(server.url, headers) }, { clock, effects });
}

const text = (value: string) => ({ content: [{ type: "text", text: value }] });

describe("a server that is away", () => {
  it("is said to be away in turns, tried again with growing pauses, and there when it is back", async () => {
    await server.stop();
    const tools = open();
    expect((await tools.open()).definitions.map(({ name }) => name)).toEqual(["srv_unavailable"]);
    const attempts = () =>
      tools.logger.lines.filter(({ message }) => message === "an MCP server cannot be reached").length;
    expect(attempts()).toBe(1);
    await tools.open();
    expect(attempts()).toBe(1);
    await clock.advance(1_999);
    await tools.open();
    expect(attempts()).toBe(1);
    await clock.advance(1);
    await until(() => attempts() === 2);
    await server.start();
    await clock.advance(4_000);
    await until(async () => (await tools.open()).definitions[0]?.name === "srv_work");
    expect(await tools.call("srv_work")).toEqual({ output: "done", isError: false });
    await tools.registry.close();
    expect(clock.timers).toBe(0);
  });

  it("and was never there answers a call of any of its tools, and says when it is back", async () => {
    await server.stop();
    const tools = open();
    const turn = await tools.open();
    const away = 'The MCP server "srv" cannot be reached at the moment. The tool was not called.';
    const call = (name: string) => turn.call(name, {}, options);
    const options = { callId: "1", timeoutMs: 60_000, signal: new AbortController().signal, clock };
    const notThere = expect.stringMatching(
      /^The tool was not called: .*begin with "srv_".* Their server cannot be reached .* srv_unavailable tells/,
    );
    expect(await call("srv_work")).toEqual({ output: notThere, isError: true });
    expect(await turn.judge("srv_work", {})).toEqual({ kind: "refused", output: notThere, isError: true });
    expect(await call("srv_unavailable")).toEqual({ output: away, isError: true });
    expect((await call("other_work")).output).toMatch(/^There is no tool with this name/);
    await server.start();
    await clock.advance(2_000);
    await until(async () => (await tools.open()).definitions[0]?.name === "srv_work");
    expect(await call("srv_unavailable")).toMatchObject({ isError: false });
    // It was meant for the tool itself, which has not run.
    expect(await call("srv_work")).toEqual({ output: notThere, isError: true });
    expect(server.of("tools/call")).toEqual([]);
    await tools.registry.close();
  });

  it("keeps its tools in turns that go on without it, and a call costs one result that says so", async () => {
    const tools = open();
    const { definitions } = await tools.open();
    await server.stop();
    const broken = await tools.call("srv_work");
    expect(broken.isError).toBe(true);
    expect(broken.output).toMatch(/^The connection to the MCP server "srv" broke/);
    expect((await tools.open()).definitions).toBe(definitions);
    expect((await tools.call("srv_work")).output).toBe(
      'The MCP server "srv" cannot be reached at the moment. The tool was not called.',
    );
    await tools.registry.close();
  });

  it("that does not answer is waited for five seconds by a turn, once, and thirty by nobody", async () => {
    server.before = ({ method }) => (method === "tools/list" ? "answered" : undefined);
    const tools = open();
    const opened = tools.open();
    let isOpen = false;
    void opened.then(() => (isOpen = true));
    await until(() => server.of("tools/list").length === 1);
    await clock.advance(4_999);
    expect(isOpen).toBe(false);
    await clock.advance(1);
    expect((await opened).definitions.map(({ name }) => name)).toEqual(["srv_unavailable"]);
    await clock.advance(25_000);
    await server.of("tools/list")[0]!.closed;
    await tools.registry.close();
  });

  it("and has not answered before is not waited for again", async () => {
    server.before = ({ method }) => (method === "tools/list" ? "answered" : undefined);
    const tools = open();
    const first = tools.open();
    await until(() => server.of("tools/list").length === 1);
    await clock.advance(30_000);
    expect((await first).definitions.map(({ name }) => name)).toEqual(["srv_unavailable"]);
    await clock.advance(2_000);
    await until(() => server.of("tools/list").length === 2);
    expect((await tools.open()).definitions.map(({ name }) => name)).toEqual(["srv_unavailable"]);
    await tools.registry.close();
  });

  it("is told when its session is not needed any more", async () => {
    server.before = ({ method }, response) => {
      if (method === "initialize") response.setHeader("mcp-session-id", "session-1");
      return undefined;
    };
    const tools = open();
    await tools.open();
    await tools.registry.close();
    expect(server.of("DELETE").map(({ headers }) => headers["mcp-session-id"])).toEqual(["session-1"]);
  });

  it("is not waited for by a turn that ends", async () => {
    server.before = () => "answered";
    const tools = open();
    const stop = new AbortController();
    const opened = tools.open(null, stop.signal);
    stop.abort();
    expect((await opened).definitions.map(({ name }) => name)).toEqual(["srv_unavailable"]);
    await tools.registry.close();
  });

  /** Gives sessions, and answers with `status` to the first from now on. */
  async function forgetSession(tools: ReturnType<typeof open>, status: number): Promise<void> {
    const giveSession: typeof server.before = ({ method }, response) => {
      if (method === "initialize")
        response.setHeader("mcp-session-id", `session-${server.of("initialize").length}`);
      return undefined;
    };
    server.before = giveSession;
    await tools.open();
    const first = server.of("initialize").length;
    server.before = (request, response) => {
      if (request.headers["mcp-session-id"] !== `session-${first}`) return giveSession(request, response);
      response.writeHead(status).end("no such session");
      return "answered";
    };
    let calls = 0;
    server.call = () => text(`call ${(calls += 1)}`);
  }

  it("and has forgotten the session is told who we are again, and a call that may be repeated is", async () => {
    const tools = open({}, { srv_work: "idempotent" });
    await forgetSession(tools, 404);
    expect(await tools.call("srv_work")).toEqual({ output: "call 1", isError: false });
    await tools.registry.close();
  });

  it.each([
    ["nothing is said of", undefined, {}],
    ["the server calls harmless and the operator does not", { readOnlyHint: true }, { srv_work: "unsafe" }],
  ] as const)(
    "and has forgotten the session gets no call again that %s",
    async (_case, annotations, effects) => {
      server.tools = [{ name: "work", annotations, inputSchema: { type: "object" } }];
      const tools = open({}, effects);
      await forgetSession(tools, 404);
      const { output, isError } = await tools.call("srv_work");
      expect(isError).toBe(true);
      expect(output).toMatch(/It may have had its effect\.$/);
      expect(server.of("tools/call")).toHaveLength(1);
      expect(await tools.call("srv_work")).toEqual({ output: "call 1", isError: false });
      await tools.registry.close();
    },
  );

  it("and says 400 to a session that it has forgotten has refused the call, and gets a new session", async () => {
    const tools = open({}, { srv_work: "idempotent" });
    await forgetSession(tools, 400);
    expect((await tools.call("srv_work")).output).toBe(
      'The MCP server "srv" refused the call with status 400.',
    );
    expect(await tools.call("srv_work")).toEqual({ output: "call 1", isError: false });
    await tools.registry.close();
  });

  it.each([404, 400])(
    "that gave no session and says %i has refused the call, which is not repeated",
    async (status) => {
      server.before = ({ method }, response) => {
        if (method !== "tools/call") return undefined;
        response.writeHead(status).end("no session of the shop");
        return "answered";
      };
      const tools = open({}, { srv_work: "read" });
      expect(await tools.call("srv_work")).toEqual({
        output: `The MCP server "srv" refused the call with status ${status}.`,
        isError: true,
      });
      expect(server.of("tools/call")).toHaveLength(1);
      await tools.registry.close();
    },
  );
});

describe("a call", () => {
  it("that hangs ends with its time, and so does its connection", async () => {
    server.call = () => undefined;
    const tools = open();
    const outcome = tools.call("srv_work");
    await until(() => server.of("tools/call").length === 1);
    await clock.advance(60_000);
    expect((await outcome).output).toMatch(/^The tool srv_work took longer than 60 s/);
    await server.of("tools/call")[0]!.closed;
    server.call = () => text("fine");
    expect((await tools.call("srv_work")).output).toBe("fine");
    await tools.registry.close();
  });

  it.each([
    ["before it has begun to answer", false],
    ["in the middle of its answer", true],
  ])("whose server dies %s is told that it may have had its effect", async (_case, begun) => {
    server.call = (request, response) => {
      if (begun) writeProgress(response, request, 1);
      setImmediate(() => response.destroy());
      return undefined;
    };
    const tools = open();
    const { output, isError } = await tools.call("srv_work");
    expect(isError).toBe(true);
    expect(output).toBe(
      'The connection to the MCP server "srv" broke before the tool answered. It may have had its effect.',
    );
    await tools.registry.close();
  });

  it("whose answer ends without an answer is told so at once", async () => {
    server.call = (request, response) => {
      writeProgress(response, request, 1);
      response.end();
      return undefined;
    };
    const tools = open();
    expect((await tools.call("srv_work")).output).toMatch(/broke before the tool answered/);
    await tools.registry.close();
  });

  it.each([
    ["not a result at all", 5, "not with what the protocol allows"],
    ["nothing", null, "not with what the protocol allows"],
    ["content that is a text", { content: "x" }, "not with what the protocol allows"],
    ["content of an unknown kind", { content: [{ type: "hologram" }] }, "not with what the protocol allows"],
    ["an error of its own", { ...text("no such city"), isError: true }, "no such city"],
    ["an error without words", { content: [], isError: true }, "null"],
  ])("that is answered with %s has an honest result", async (_case, result, said) => {
    server.call = () => result;
    const tools = open();
    const { output, isError } = await tools.call("srv_work");
    expect(isError).toBe(true);
    expect(output).toContain(said);
    server.call = () => text("fine");
    expect((await tools.call("srv_work")).output).toBe("fine");
    await tools.registry.close();
  });

  it("whose structured answer is not what was announced says what is wrong, and what was said", async () => {
    const outputSchema = {
      type: "object",
      properties: { degrees: { type: "number" } },
      required: ["degrees"],
    };
    server.tools = [{ name: "work", inputSchema: { type: "object" }, outputSchema }];
    server.call = () => ({ ...text("warm"), structuredContent: { degrees: "many" } });
    const tools = open();
    const { output, isError } = await tools.call("srv_work");
    expect(isError).toBe(true);
    expect(output).toMatch(
      /^The tool ran, but its answer is not what it has announced \(degrees: .*It said: warm$/,
    );
    server.call = () => ({ ...text("warm"), structuredContent: { degrees: 30 } });
    expect((await tools.call("srv_work")).output).toEqual({ degrees: 30 });
    await tools.registry.close();
  });

  it("is refused in the server's words, which are cut when its keys are out of them", async () => {
    server.before = ({ method, id }, response) => {
      if (method !== "tools/call") return undefined;
      response.writeHead(200, { "content-type": "application/json" });
      const error = { code: -32_602, message: `bad ${"operators-key-1 ".repeat(400)}` };
      response.end(JSON.stringify({ jsonrpc: "2.0", id, error }));
      return "answered";
    };
    const tools = open({ Authorization: "Bearer operators-key-1" });
    const { output } = await tools.call("srv_work");
    expect(output).toMatch(/^The MCP server "srv" refused the call: .*bad \[secret\] \[secret\]/);
    expect(output).not.toContain("oper");
    expect(JSON.stringify(output).length).toBeLessThan(5_000);
    await tools.registry.close();
  });

  it("has a key that is the same when it is run again", async () => {
    const tools = open();
    await tools.call("srv_work", {}, { callId: "call-42" });
    await tools.call("srv_work", {}, { callId: "call-42" });
    const keys = server.of("tools/call").map(({ params }) => params["_meta"]);
    expect(keys).toEqual([
      expect.objectContaining({ "idempotency-key": "call-42" }),
      expect.objectContaining({ "idempotency-key": "call-42" }),
    ]);
    await tools.registry.close();
  });
});

describe("a flood", () => {
  it("of an answer is cut to what a model is shown", async () => {
    const tools = open();
    server.call = () => text("x".repeat(1_000_000));
    const cut = await tools.call("srv_work");
    expect(cut.isError).toBe(false);
    expect(cut.output).toMatch(/\[Cut: this is the beginning of 1000002 bytes\.\]$/);
    await tools.registry.close();
  });

  it("of progress is heard a little, and ends the connection when it does not end", async () => {
    server.call = (request, response) => {
      const more = (progress: number): void => {
        if (response.destroyed) return;
        for (let count = 0; count < 100; count += 1) writeProgress(response, request, progress);
        setImmediate(() => more(progress + 1));
      };
      more(1);
      return undefined;
    };
    const heard: unknown[] = [];
    const tools = open();
    const outcome = await tools.call("srv_work", {}, { onProgress: (value) => void heard.push(value) });
    expect(outcome.output).toMatch(/broke before the tool answered/);
    expect(heard).toHaveLength(20);
    await tools.registry.close();
  });

  it("of tools is taken up to 128, whatever number of pages, and what is too long is left out or cut", async () => {
    let page = 0;
    server.before = (request, response) => {
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
    const tools = open();
    const { definitions } = await tools.open();
    expect(definitions).toHaveLength(128);
    expect(definitions[0]?.description).toHaveLength(4_001);
    expect(definitions.map(({ name }) => name)).not.toContain("srv_tool-1-1");
    expect(page).toBeLessThan(20);
    await tools.registry.close();
  });

  it("of announcements makes no flood of questions", async () => {
    const tools = open();
    await tools.open();
    await until(() => server.streams.length === 1);
    for (let count = 0; count < 50; count += 1) {
      server.notify("notifications/tools/list_changed");
      await tools.call("srv_work");
    }
    expect(server.of("tools/list")).toHaveLength(1);
    await clock.advance(1_000);
    await until(() => server.of("tools/list").length === 2);
    await tools.registry.close();
  });
});

describe("a list of tools", () => {
  it("is renewed when the server says so, and stays the same array while it says the same", async () => {
    const tools = open();
    const { definitions } = await tools.open();
    await until(() => server.streams.length === 1);
    // When the third list is asked for, the second has been taken.
    await until(async () => {
      server.notify("notifications/tools/list_changed");
      await clock.advance(1_000);
      return server.of("tools/list").length === 3;
    });
    expect((await tools.open()).definitions).toBe(definitions);
    server.tools = [...server.tools, { name: "rest", inputSchema: { type: "object" } }];
    server.notify("notifications/tools/list_changed");
    await until(async () => {
      await clock.advance(1_000);
      return (await tools.open()).definitions.length === 2;
    });
    await tools.registry.close();
  });

  it("leaves out what cannot be checked and the second of two names, and keeps the rest", async () => {
    server.tools = [
      { name: "odd", inputSchema: { type: "object", properties: { a: { type: "banana" } } } },
      { name: "get.it", inputSchema: { type: "object" } },
      { name: "get it", inputSchema: { type: "object" } },
      { name: "n".repeat(200), inputSchema: { type: "object" } },
    ];
    const tools = open();
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
    server.before = ({ method, id }, response) => {
      if (method !== "tools/list") return undefined;
      response.writeHead(200, { "content-type": "application/json" });
      response.end(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"tools":${listed}}}`);
      return "answered";
    };
    const tools = open();
    expect((await tools.open()).definitions.map(({ name }) => name)).toEqual(["srv_work"]);
    expect(JSON.stringify(tools.logger.lines)).toContain("deep is nested more than 64 levels deep");
    await tools.registry.close();
  });

  it("is told to models without what no provider takes", async () => {
    const inputSchema = { type: "object", properties: { a: { pattern: "(" } } };
    server.tools = [{ name: "work", description: "a\0b", inputSchema }];
    const tools = open();
    expect((await tools.open()).definitions).toMatchObject([
      { description: "ab", inputSchema: { type: "object", properties: { a: {} } } },
    ]);
    expect((await tools.open()).definitions[0]?.inputSchema.properties?.["a"]).toEqual({});
    await tools.registry.close();
  });

  it("has schemas that cannot hold up the process", async () => {
    let nested: object = { type: "string" };
    for (let depth = 0; depth < 8; depth += 1) nested = { anyOf: [nested, nested] };
    server.tools = [
      {
        name: "work",
        inputSchema: {
          type: "object",
          properties: { slow: { type: "string", pattern: "^(a+)+$" }, nested, loop: { $ref: "#" } },
          allOf: [{ $ref: "#" }],
        },
      },
    ];
    const tools = open();
    const input = { slow: `${"a".repeat(40)}!`, nested: 5, loop: { loop: {} } };
    expect(await tools.call("srv_work", input)).toEqual({ output: "done", isError: false });
    await tools.registry.close();
  });
});

describe("the operator's keys", () => {
  it("go to the server, not to where it redirects, and are in nothing that it repeats", async () => {
    const elsewhere = await new ScriptedMcp().start();
    server.call = ({ headers }) => text(`You sent ${headers.authorization}`);
    const tools = open({ Authorization: "Bearer operators-key-1" });
    expect((await tools.call("srv_work")).output).toBe("You sent [secret]");
    server.before = ({ method }, response) => {
      if (method !== "tools/call") return undefined;
      response.writeHead(307, { location: elsewhere.url }).end();
      return "answered";
    };
    expect((await tools.call("srv_work")).isError).toBe(true);
    expect(elsewhere.requests).toEqual([]);
    await tools.registry.close();
    await elsewhere.stop();
  });
});

it("messages of a stream that nobody asked for are bounded too", async () => {
  const tools = open();
  await tools.open();
  await until(() => server.streams.length === 1);
  const [stream] = server.streams;
  const more = (): void => {
    if (stream!.destroyed) return;
    for (let count = 0; count < 100; count += 1) {
      writeMessage(stream!, { jsonrpc: "2.0", method: "notifications/message", params: {} });
    }
    setImmediate(more);
  };
  more();
  await until(() => stream!.destroyed);
  expect(tools.logger.lines).toEqual(expect.arrayContaining([expect.objectContaining({ level: "debug" })]));
  await tools.registry.close();
});

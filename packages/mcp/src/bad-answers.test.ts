// A bad response fails only its own call: other calls continue on the same connection.

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { ManualClock } from "../../server/test/manual-clock.ts";
import type { ToolEffect } from "@colloquy/engine/internal/core/ports/driven/tool";
import { httpServer, mcpTools, type McpTools, ORIGIN } from "./testing/opened-mcp.ts";
import { ScriptedMcp, writeMessage, writeProgress } from "./testing/scripted-mcp.ts";
import { until } from "./testing/until.ts";

const MEGABYTES = 5_000_000;
const TOOL = { inputSchema: { type: "object" } };

let server: ScriptedMcp;
let tools: McpTools;

function open(effects: Readonly<Record<string, ToolEffect>> = {}): void {
  tools = mcpTools({ srv: httpServer(server.url) }, { clock: new ManualClock(), effects });
}

beforeEach(async () => {
  server = await new ScriptedMcp().start();
  server.tools = [
    { name: "bad", ...TOOL },
    { name: "good", ...TOOL },
  ];
  open();
});
afterEach(async () => {
  await tools.toolset.close();
  await server.stop();
});

const text = (value: string) => ({ content: [{ type: "text", text: value }] });

/** Sets how the tool `bad` responds; `good` always works. */
function bad(answer: (typeof server)["call"]): void {
  server.call = (request, response) =>
    request.params["name"] === "bad" ? answer(request, response) : text("fine");
}

/**
 * Calls `bad`, then checks that `good` still works on the same connection, and returns the outcome of `bad`.
 */
async function callBad() {
  const outcome = await tools.call("srv_bad");
  expect(await tools.call("srv_good")).toEqual({ output: "fine", isError: false });
  expect(server.of("initialize")).toHaveLength(1);
  return outcome;
}

describe("a response that is too large", () => {
  it.each([
    ["JSON", false],
    ["an event", true],
  ])("is cut with a note and affects only its own call, in %s", async (_case, isStream) => {
    bad((request, response) => {
      if (!isStream) return text(`begun ${"x".repeat(MEGABYTES)}`);
      writeProgress(response, request, 1);
      const result = text(`begun ${"é".repeat(MEGABYTES / 2)}`);
      writeMessage(response, { jsonrpc: "2.0", result, id: request.id });
      return undefined;
    });
    const { output, isError } = await callBad();
    expect(isError).toBe(false);
    expect(output).toMatch(/^begun [xé]{10000}/);
    expect(output).toMatch(/\n\[Cut: this is the beginning of more than 4194304 bytes\.\]$/);
    expect(Buffer.byteLength(JSON.stringify(output))).toBeLessThanOrEqual(65_536);
    expect(Buffer.byteLength(JSON.stringify(output))).toBeGreaterThan(65_000);
  });

  it("is cut off if it never ends", async () => {
    bad((_request, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      const more = (): void => {
        if (!response.destroyed) response.write(`data: ${"y".repeat(100_000)}\n`, () => setImmediate(more));
      };
      more();
      return undefined;
    });
    const { output, isError } = await callBad();
    expect(isError).toBe(false);
    expect(output).toMatch(/^y{10000}/);
    await server.of("tools/call")[0]!.closed;
  });

  it("keeps the texts between other content, and drops the end of the last text, which may be a partial secret", async () => {
    const image = { type: "image", mimeType: "image/png", data: "A".repeat(100) };
    bad(() => ({ content: [{ type: "text", text: "one" }, image, ...text("x".repeat(MEGABYTES)).content] }));
    expect((await callBad()).output).toMatch(/^\["one","\[This file was not read: .*\]","x{10000}/);
  });

  it("makes the tools unavailable if it is the response to tools/list", async () => {
    server.tools = [{ name: "work", ...TOOL, description: "x".repeat(MEGABYTES) }];
    expect((await tools.open()).definitions.map(({ name }) => name)).toEqual(["srv_unavailable"]);
    expect(JSON.stringify(tools.logger.lines)).toContain("larger than 4194304 bytes");
  });
});

describe("a response with an error status", () => {
  const status = (code: number) =>
    bad((_request, response) => void response.writeHead(code, { location: "/elsewhere" }).end("oh"));

  it.each([
    [
      "500",
      500,
      "unsafe",
      'The MCP server "srv" answered the call with status 500. It may have had its effect.',
    ],
    [
      "503",
      503,
      "idempotent",
      'The MCP server "srv" answered the call with status 503. It may have had its effect.',
    ],
    ["500 to a tool that only reads", 500, "read", 'The MCP server "srv" answered the call with status 500.'],
    ["307", 307, "unsafe", 'The MCP server "srv" answered the call with status 307.'],
    ["403", 403, "unsafe", 'The MCP server "srv" refused the call with status 403.'],
  ] as const)("fails only its own call and names the status: %s", async (_case, code, effect, said) => {
    await tools.toolset.close();
    open({ srv_bad: effect });
    status(code);
    expect(await callBad()).toMatchObject({ output: said, isError: true });
    const warnings = tools.logger.lines.filter(({ level }) => level === "warn");
    expect(warnings.map(({ message }) => message)).toEqual(
      code >= 500 ? ["a call to an MCP server has failed", "a tool call failed"] : ["a tool call failed"],
    );
  });

  it("keeps the session after a 400 of one tool", async () => {
    server.before = ({ method }, response) => {
      if (method === "initialize") response.setHeader("mcp-session-id", "session-1");
      return undefined;
    };
    status(400);
    expect((await callBad()).output).toBe('The MCP server "srv" refused the call with status 400.');
  });

  it("reports a demand for more scopes as a refusal", async () => {
    bad((_request, response) => {
      const challenge = 'Bearer error="insufficient_scope", scope="all"';
      response.writeHead(403, { "www-authenticate": challenge }).end();
      return undefined;
    });
    expect((await callBad()).output).toBe('The MCP server "srv" refused the call with status 403.');
  });
});

describe("an invalid response", () => {
  it.each([
    ["breaks off before it begins", false, "destroy"],
    ["breaks off in the middle", true, "destroy"],
    ["ends before it is complete", true, "end"],
  ] as const)("fails only its own call if the server still responds: it %s", async (_case, begun, how) => {
    bad((request, response) => {
      if (begun) writeProgress(response, request, 1);
      setImmediate(() => response[how]());
      return undefined;
    });
    expect(await callBad()).toMatchObject({
      output:
        'The connection to the MCP server "srv" broke before the tool answered. It may have had its effect.',
      isError: true,
    });
  });

  it("is not reported as possibly effective if the tool only reads", async () => {
    await tools.toolset.close();
    open({ srv_bad: "read" });
    bad((_request, response) => void setImmediate(() => response.destroy()));
    expect((await callBad()).output).toBe(
      'The connection to the MCP server "srv" broke before the tool answered.',
    );
  });

  it("fails only its own call if its content type is unknown", async () => {
    bad((_request, response) => void response.writeHead(200, { "content-type": "text/html" }).end("<p>"));
    expect(await callBad()).toMatchObject({
      output:
        'The MCP server "srv" answered, but not with what the protocol allows: Unexpected content type: text/html',
      isError: true,
    });
  });

  it("is an error that includes its text if the announced structured content is missing", async () => {
    const outputSchema = { type: "object", properties: { degrees: { type: "number" } } };
    server.tools = [{ name: "bad", ...TOOL, outputSchema }];
    bad(() => text("warm"));
    expect(await tools.call("srv_bad")).toMatchObject({
      output:
        "The tool ran, but its answer is not what it has announced (there is no structured content). It said: warm",
      isError: true,
    });
  });
});

it("logs a warning when the connection to a server is lost while idle", async () => {
  await tools.open();
  await until(() => server.streams.length === 1);
  const more = (): void => {
    const [stream] = server.streams;
    if (stream === undefined || stream.destroyed) return;
    for (let count = 0; count < 100; count += 1) {
      writeMessage(stream, { jsonrpc: "2.0", method: "notifications/message", params: {} });
    }
    setImmediate(more);
  };
  more();
  await until(() => tools.logger.lines.some(({ level }) => level === "warn"));
  expect(tools.logger.lines.filter(({ level }) => level === "warn")).toEqual([
    {
      level: "warn",
      message: "the connection to an MCP server is lost",
      fields: {
        ...ORIGIN,
        server: "srv",
        failure: "The server sent more than 5000 messages in ten seconds.",
      },
    },
  ]);
});

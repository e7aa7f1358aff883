// MCP servers that broke other clients, from public reports (owner/repository#number).

import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ManualClock } from "../../server/test/manual-clock.ts";
import { httpServer, mcpTools, stdioServer } from "./testing/opened-mcp.ts";
import { until } from "./testing/until.ts";
import { sendResult } from "./testing/scripted-mcp.ts";
import { textResult, useScriptedServer } from "./testing/use-scripted-server.ts";

const scripted = useScriptedServer();

describe("streamable HTTP", () => {
  it("accepts 204 as the response to a notification (egoist/chatwise-releases#1360)", async () => {
    scripted.server.before = ({ method }, response) => {
      if (!method.startsWith("notifications/")) return undefined;
      response.writeHead(204).end();
      return "answered";
    };
    const tools = scripted.open();
    expect(await tools.call("srv_work")).toEqual({ output: "done", isError: false });
    await tools.toolset.close();
  });

  it("requests the event stream only once if the server responds with JSON (f/prompts.chat#1117)", async () => {
    scripted.server.before = ({ method }, response) => {
      if (method !== "GET") return undefined;
      response.writeHead(200, { "content-type": "application/json" }).end('{"name":"prompts.chat"}');
      return "answered";
    };
    const tools = scripted.open();
    expect(await tools.call("srv_work")).toEqual({ output: "done", isError: false });
    for (let second = 0; second < 30; second += 1) {
      await scripted.clock.advance(1_000);
      expect(await tools.call("srv_work")).toEqual({ output: "done", isError: false });
    }
    expect(scripted.server.of("GET")).toHaveLength(1);
    await tools.toolset.close();
  });

  it.each([
    ["modelcontextprotocol/python-sdk#2432", "text/plain", "this is not json"],
    ["modelcontextprotocol/python-sdk#1382", "text/html; charset=utf-8", "<h1>Sign in</h1>"],
    ["tadata-org/fastapi_mcp#262", "application/json", "<h1>Sign in</h1>"],
  ])("distinguishes an invalid response from an unreachable server (%s)", async (_report, type, body) => {
    scripted.server.before = (_request, response) => {
      response.writeHead(200, { "content-type": type }).end(body);
      return "answered";
    };
    const tools = scripted.open();
    const turn = await tools.open();
    const { output } = await tools.call("srv_unavailable");
    expect(turn.definitions.map(({ name }) => name)).toEqual(["srv_unavailable"]);
    expect(output).toBe("Their server answered, but not with what the protocol allows. Nothing was called.");
    await tools.toolset.close();
  });

  it.each([
    ["quazardous/nelson-mcp#38", 409],
    ["punkpeye/fastmcp#121", 500],
    ["markmhendrickson/neotoma#2312", 503],
  ])("opens a new session after an error status other than 404 (%s)", async (_report, status) => {
    let sessions = 0;
    let known = "";
    scripted.server.before = ({ method, headers }, response) => {
      if (method === "initialize") {
        known = `session-${(sessions += 1)}`;
        response.setHeader("mcp-session-id", known);
      } else if (headers["mcp-session-id"] !== undefined && headers["mcp-session-id"] !== known) {
        response.writeHead(status).end("Bad Request: No valid session ID provided");
        return "answered";
      }
      return undefined;
    };
    const tools = scripted.open();
    expect(await tools.call("srv_work")).toEqual({ output: "done", isError: false });
    known = "after a restart";
    expect(await tools.call("srv_work")).toMatchObject({ isError: true });
    expect(await tools.call("srv_work")).toEqual({ output: "done", isError: false });
    await tools.toolset.close();
  });

  it("keeps the session if only a tool call fails with an error status", async () => {
    scripted.server.before = ({ method }, response) => {
      if (method === "initialize") response.setHeader("mcp-session-id", "session-1");
      return undefined;
    };
    scripted.server.call = (_request, response) => void response.writeHead(500).end("oh");
    const tools = scripted.open();
    expect(await tools.call("srv_work")).toMatchObject({ isError: true });
    scripted.server.call = () => textResult("done");
    expect(await tools.call("srv_work")).toEqual({ output: "done", isError: false });
    expect(scripted.server.of("initialize")).toHaveLength(1);
    await tools.toolset.close();
  });

  it.each([
    [
      "DeusData/codebase-memory-mcp#1247",
      (cursor: string | undefined) => ({ page: 0, nextCursor: cursor ?? "8" }),
    ],
    ["sparfenyuk/mcp-proxy#233", () => ({ page: 0, nextCursor: "8" })],
    [
      "PrefectHQ/fastmcp#3167: a cycle",
      (cursor: string | undefined) =>
        cursor === "1" ? { page: 1, nextCursor: "0" } : { page: 0, nextCursor: "1" },
    ],
  ])("lists each tool once if the server repeats pages (%s)", async (_report, pageOf) => {
    const pages = [["get_architecture", "search_code"], ["trace_path"]] as const;
    scripted.server.before = (request, response) => {
      if (request.method !== "tools/list") return undefined;
      const { page, nextCursor } = pageOf(request.params["cursor"] as string | undefined);
      const tools = (pages[page] ?? []).map((name) => ({ name, inputSchema: { type: "object" } }));
      sendResult(response, request, { tools, nextCursor });
      return "answered";
    };
    const tools = scripted.open();
    const names = (await tools.open()).definitions.map(({ name }) => name);
    expect(names).toEqual([...new Set(names)]);
    expect(names.every((name) => !/_\d$/.test(name))).toBe(true);
    expect(names).toContain("srv_search_code");
    expect(scripted.server.of("tools/list").length).toBeLessThanOrEqual(3);
    await tools.toolset.close();
  });

  it.each([
    ["ggml-org/llama.cpp#26410", { accounts: [{ id: 1 }], total: 1 }],
    ["openai/openai-agents-python#1035", { result: [] }],
  ])("reads results that have only structured content (%s)", async (_report, structuredContent) => {
    scripted.server.call = () => ({ content: [], structuredContent });
    const tools = scripted.open();
    expect(await tools.call("srv_work")).toEqual({ output: structuredContent, isError: false });
    await tools.toolset.close();
  });

  it("does not validate an error result against the output schema (yamadashy/repomix#833)", async () => {
    const outputSchema = {
      type: "object",
      properties: { files: { type: "number" } },
      required: ["files"],
      additionalProperties: false,
    };
    scripted.server.tools = [{ name: "work", inputSchema: { type: "object" }, outputSchema }];
    scripted.server.call = () => ({
      ...textResult('{"errorMessage":"no such directory"}'),
      structuredContent: { errorMessage: "no such directory" },
      isError: true,
    });
    const tools = scripted.open();
    expect(await tools.call("srv_work")).toMatchObject({
      output: '{"errorMessage":"no such directory"}',
      isError: true,
    });
    await tools.toolset.close();
  });
});

describe("HTTP+SSE", () => {
  /** Starts a server whose `GET /mcp/sse` announces the endpoint. POSTs fail with 404. */
  async function sseServer(endpoint: (origin: string) => string) {
    const streams: ServerResponse[] = [];
    const server = createServer((request, response) => {
      request.resume();
      if (request.method !== "GET" || request.url !== "/mcp/sse") {
        response.writeHead(request.url === "/mcp/sse" ? 405 : 404).end();
        return;
      }
      streams.push(response);
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(`event: endpoint\ndata: ${endpoint(`http://127.0.0.1:${port}`)}\n\n`);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const stop = (): void => {
      server.close();
      server.closeAllConnections();
    };
    return { url: `http://127.0.0.1:${port}/mcp/sse`, stop };
  }

  it.each([
    [
      "the endpoint lacks the proxy's prefix (modelcontextprotocol/typescript-sdk#583)",
      () => "/messages/?session_id=1",
      "refused the connection with status 404",
    ],
    [
      "the endpoint has another origin (haierkeys/fast-note-sync-service#273)",
      () => "http://127.0.0.1:9/api/mcp/message?sessionId=1",
      "answered, but not with what the protocol allows",
    ],
  ])("does not report the server as unreachable if %s", async (_case, endpoint, said) => {
    const server = await sseServer(endpoint);
    const tools = mcpTools({ srv: httpServer(server.url) }, { clock: new ManualClock() });
    await tools.open();
    expect((await tools.call("srv_unavailable")).output).toBe(`Their server ${said}. Nothing was called.`);
    await tools.toolset.close();
    server.stop();
  });
});

describe("stdio", () => {
  let directory: string;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "colloquy-reported-"));
  });
  afterAll(() => rm(directory, { recursive: true }));

  it.each([
    ["a byte order mark (modelcontextprotocol/rust-sdk#825)", "\ufeff", ""],
    ["a coloured log line (mcp-telegram/mcp-telegram#1)", "\x1b[33m[2026-03-18] connecting\x1b[0m\n", ""],
    [
      "a multi-line log entry (xgq18237/siyuan_mcp_server#6)",
      "Response headers: {\n  'access': '*'\n}\n{}\n",
      "",
    ],
    ["a log entry without a line break (hurttlocker/o8#1541)", "[db] Connected to {data.db}", ""],
    ["a terminal control sequence (indragiek/Context#65)", "\x1b]1337;RemoteHost=@mini.local\x07", "\r"],
  ])("reads messages preceded by %s", async (_case, before, after) => {
    const file = join(directory, `${Math.random()}.cjs`);
    await writeFile(
      file,
      `const results = {
         initialize: { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: { name: "s", version: "1" } },
         "tools/list": { tools: [{ name: "work", inputSchema: { type: "object" } }] },
         "tools/call": { content: [{ type: "text", text: "done" }] },
       };
       require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
         const { id, method } = JSON.parse(line);
         const message = JSON.stringify({ jsonrpc: "2.0", id, result: results[method] });
         if (results[method] !== undefined) process.stdout.write(${JSON.stringify(before)} + message + ${JSON.stringify(`${after}\n`)});
       });`,
    );
    const clock = new ManualClock();
    const tools = mcpTools({ srv: stdioServer(process.execPath, [file]) }, { clock });
    const opened = tools.open();
    let names: readonly string[] | null = null;
    void opened.then(({ definitions }) => (names = definitions.map(({ name }) => name)));
    await until(() => names !== null);
    expect(names).toEqual(["srv_work"]);
    expect(await tools.call("srv_work")).toEqual({ output: "done", isError: false });
    await tools.toolset.close();
  });
});

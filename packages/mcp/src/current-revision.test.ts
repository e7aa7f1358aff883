// A server that supports only the protocol revision 2026-07-28: no handshake, no session.

import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { createMcpHandler, McpServer, type McpHttpHandler } from "@modelcontextprotocol/server";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { ManualClock } from "../../server/test/manual-clock.ts";
import type { JsonValue } from "@colloquy/engine/internal/core/json";
import { httpServer, mcpTools } from "./testing/opened-mcp.ts";
import { until } from "./testing/until.ts";

let handler: McpHttpHandler;
let server: Server;
let names: string[];

beforeEach(async () => {
  names = ["add"];
  handler = createMcpHandler(createTools, { legacy: "reject" });
  server = createServer((request, response) => {
    void handler.fetch(toRequest(request)).then(async (answer) => {
      response.writeHead(answer.status, Object.fromEntries(answer.headers));
      if (answer.body === null) response.end();
      else for await (const chunk of answer.body) response.write(chunk);
      response.end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
});

afterEach(async () => {
  await handler.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

function createTools(): McpServer {
  const mcp = new McpServer(
    { name: "current", version: "1" },
    { capabilities: { tools: { listChanged: true } } },
  );
  for (const name of names) {
    const inputSchema = z.object({ a: z.number(), b: z.number() });
    mcp.registerTool(
      name,
      { inputSchema, annotations: { readOnlyHint: true } },
      async ({ a, b }, context) => {
        const progressToken = context.mcpReq._meta?.progressToken;
        if (progressToken !== undefined) {
          const params = { progressToken, progress: 1, total: 1 };
          await context.mcpReq.notify({ method: "notifications/progress", params });
        }
        return { content: [{ type: "text", text: String(a + b) }] };
      },
    );
  }
  return mcp;
}

function toRequest(request: IncomingMessage): Request {
  const { method = "GET", url = "/", headers } = request;
  const sent = new Headers();
  for (const [name, value] of Object.entries(headers)) sent.set(name, String(value));
  const body = method === "POST" ? { body: Readable.toWeb(request), duplex: "half" } : {};
  return new Request(`http://127.0.0.1${url}`, { method, headers: sent, ...body } as RequestInit);
}

describe("a server of the current revision", () => {
  it("lists tools, answers calls with progress, and announces changes", async () => {
    const clock = new ManualClock();
    const { port } = server.address() as AddressInfo;
    const connect = async () => {
      for (;;) {
        const tools = mcpTools({ srv: httpServer(`http://127.0.0.1:${port}/mcp`) }, { clock });
        const { definitions } = await tools.open();
        if (definitions[0]?.name !== "srv_unavailable") return { tools, definitions };
        // The probe of the SDK has a real time limit of three seconds.
        await tools.toolset.close();
      }
    };
    const { tools, definitions } = await connect();
    expect(definitions).toMatchObject([{ name: "srv_add", effect: "read" }]);
    const heard: JsonValue[] = [];
    const onProgress = (value: JsonValue): void => void heard.push(value);
    expect(await tools.call("srv_add", { a: 2, b: 40 }, { onProgress })).toEqual({
      output: "42",
      isError: false,
    });
    expect(heard).toEqual([{ progress: 1, total: 1 }]);
    names = ["add", "sum"];
    await until(async () => {
      handler.notify.toolsChanged();
      await clock.advance(1_000);
      return (await tools.open()).definitions.length === 2;
    });
    expect(tools.logger.lines.filter(({ level }) => level !== "debug")).toEqual([]);
    await tools.toolset.close();
  });
});

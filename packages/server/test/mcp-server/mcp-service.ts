// Starts a service with a scripted model, and connects MCP clients to it.

import { Client, type ClientOptions, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { jsonSchema } from "ai";
import { afterAll, beforeAll } from "vitest";
import type { AppSettings, OwnTool } from "@colloquy/engine/internal/core/app-settings";
import { draw } from "../drawing-tool.ts";
import { startProtocolService } from "../protocol-service.ts";

export const MODERN: ClientOptions = { versionNegotiation: { mode: { pin: "2026-07-28" } } };

interface Options {
  readonly environment?: Readonly<Record<string, string>>;
  /** Section `protocols["mcp-server"]`; not set if absent. */
  readonly settings?: object;
  /** Users of the App `shop`. */
  readonly users?: AppSettings["users"];
}

export type McpService = Awaited<ReturnType<typeof startMcp>>;

/** All Apps have the tools `draw` and `brew`, whose calls need approval. */
export async function startMcp({ environment = {}, settings, users = null }: Options = {}) {
  const brew: OwnTool = {
    description: "Brews tea",
    inputSchema: jsonSchema({ type: "object", properties: { cups: { type: "integer" } } }),
    execute: () => ({ brewed: true }),
  };
  const service = await startProtocolService({
    environment,
    protocols: settings === undefined ? {} : { "mcp-server": settings },
    adjust: (config) => {
      const app = config.apps["default"]!;
      const tools = { ...app.tools, own: { brew, draw }, approvals: { brew: "always" as const } };
      const own: AppSettings = { ...app, tools };
      return { ...config, apps: { ...config.apps, default: own, shop: { ...own, users }, club: own } };
    },
  });
  const clients: Client[] = [];
  return {
    ...service,
    /** Connects a client to `/mcp`, or to another path, with this bearer. */
    async connect(options?: ClientOptions, bearer: string | null = null, path = "/mcp"): Promise<Client> {
      const client = await connectTo(service.url + path, options, bearer);
      clients.push(client);
      return client;
    },
    async close(): Promise<void> {
      await Promise.all(clients.map((client) => client.close()));
      await service.close();
    },
  };
}

export async function connectTo(
  url: string,
  options: ClientOptions = {},
  bearer: string | null = null,
): Promise<Client> {
  const client = new Client({ name: "test", version: "1.0.0" }, options);
  const headers: Record<string, string> = bearer === null ? {} : { Authorization: `Bearer ${bearer}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  return client;
}

/** Starts the service before the tests of the file and stops it after them. Returns a function that returns it. */
export function useMcp(options?: Options): () => McpService {
  let service: McpService;
  beforeAll(async () => {
    service = await startMcp(options);
  });
  afterAll(() => service.close());
  return () => service;
}

/** Sends a JSON-RPC message with `fetch`. */
export async function post(url: string, message: unknown, headers: Readonly<Record<string, string>> = {}) {
  const response = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...headers },
    body: typeof message === "string" ? message : JSON.stringify(message),
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

export const LIST = { jsonrpc: "2.0", id: 1, method: "tools/list" };

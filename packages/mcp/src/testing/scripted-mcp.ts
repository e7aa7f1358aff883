// An MCP server over HTTP whose behaviour, mostly misbehaviour, is scripted by a test.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface McpRequest {
  readonly id: string | number | undefined;
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly headers: IncomingMessage["headers"];
  /** Resolves when the connection is closed for any reason. */
  readonly closed: Promise<void>;
}

/** Returns the `result` of a request; `undefined` if it has written the response itself, or never will. */
type Answer = (request: McpRequest, response: ServerResponse) => unknown;

const INITIALIZED = {
  protocolVersion: "2025-11-25",
  capabilities: { tools: { listChanged: true } },
  serverInfo: { name: "scripted", version: "1" },
};

export class ScriptedMcp {
  readonly requests: McpRequest[] = [];
  /** The tools that `tools/list` returns. */
  tools: readonly object[] = [{ name: "work", inputSchema: { type: "object" } }];
  /** Handles `tools/call`. */
  call: Answer = () => ({ content: [{ type: "text", text: "done" }] });
  /** Called before everything else; `undefined` continues with the default response. */
  before: (request: McpRequest, response: ServerResponse) => "answered" | undefined = () => undefined;
  /** Open streams for unsolicited server messages. */
  readonly streams: ServerResponse[] = [];
  readonly #server = createServer((request, response) => void this.#receive(request, response));
  #port = 0;

  /** Starts the server, after a stop on the same port. */
  async start(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(this.#port, "127.0.0.1", resolve));
    this.#port = (this.#server.address() as AddressInfo).port;
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/mcp`;
  }

  of(method: string): readonly McpRequest[] {
    return this.requests.filter((request) => request.method === method);
  }

  /** Sends a notification on every open stream. */
  notify(method: string): void {
    for (const stream of this.streams) writeMessage(stream, { jsonrpc: "2.0", method });
  }

  async stop(): Promise<void> {
    this.streams.length = 0;
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  async #receive(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const closed = new Promise<void>((resolve) => response.once("close", resolve));
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const message = text === "" ? {} : (JSON.parse(text) as Partial<McpRequest>);
    const { id, method = incoming.method ?? "", params = {} } = message;
    const request = { id, method, params, headers: incoming.headers, closed };
    this.requests.push(request);
    if (this.before(request, response) === "answered") return;
    this.#answer(request, response);
  }

  #answer(request: McpRequest, response: ServerResponse): void {
    switch (request.method) {
      case "GET":
        this.streams.push(response);
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.write(": hello\n\n");
        return;
      case "initialize":
        return sendResult(response, request, INITIALIZED);
      case "tools/list":
        return sendResult(response, request, { tools: this.tools });
      case "tools/call": {
        const result = this.call(request, response);
        if (result !== undefined) sendResult(response, request, result);
        return;
      }
      case "server/discover":
        return sendError(response, request);
      default:
        response.writeHead(202).end();
    }
  }
}

export function sendResult(response: ServerResponse, { id }: McpRequest, result: unknown): void {
  sendJson(response, { jsonrpc: "2.0", id, result });
}

function sendError(response: ServerResponse, { id }: McpRequest): void {
  sendJson(response, { jsonrpc: "2.0", id, error: { code: -32_601, message: "Method not found" } });
}

function sendJson(response: ServerResponse, body: unknown): void {
  response.writeHead(200, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}

/** Writes a message of an event stream; starts the stream first if necessary. */
export function writeMessage(response: ServerResponse, message: object): void {
  if (!response.headersSent) response.writeHead(200, { "content-type": "text/event-stream" });
  response.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
}

/** Writes a progress notification. */
export function writeProgress(response: ServerResponse, { params }: McpRequest, progress: number): void {
  const { progressToken } = params["_meta"] as { progressToken: unknown };
  writeMessage(response, {
    jsonrpc: "2.0",
    method: "notifications/progress",
    params: { progressToken, progress },
  });
}

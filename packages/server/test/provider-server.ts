// A scripted model provider over a real connection.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface ProviderRequest {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  /** Parsed JSON. */
  readonly body: Readonly<Record<string, unknown>>;
  /** Resolves when the connection is closed, for whatever reason. */
  readonly closed: Promise<void>;
}

export class ProviderServer {
  /** Answers requests. */
  answer: (response: ServerResponse, request: ProviderRequest) => void = (response) => response.end();
  readonly requests: ProviderRequest[] = [];
  readonly #server = createServer((request, response) => void this.#receive(request, response));

  async start(port = 0): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(port, "127.0.0.1", resolve));
  }

  /** `http://127.0.0.1:…`, without a trailing slash. */
  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const closed = new Promise<void>((resolve) => response.once("close", resolve));
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>;
    const received = { path: request.url ?? "", headers: request.headers, body, closed };
    this.requests.push(received);
    this.answer(response, received);
  }
}

/** Answers with a status and a JSON body. */
export function answerJson(
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): ProviderServer["answer"] {
  return (response) => {
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  };
}

/** Writes server-sent events; each is an `event:` name and JSON data, or JSON data alone. */
export function writeEvents(
  response: ServerResponse,
  events: ReadonlyArray<readonly [string | null, unknown]>,
): void {
  if (!response.headersSent) response.writeHead(200, { "content-type": "text/event-stream" });
  for (const [name, data] of events) {
    response.write(`${name === null ? "" : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`);
  }
}

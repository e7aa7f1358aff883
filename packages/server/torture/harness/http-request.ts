// A plain HTTP client for servers that die during answers: one request, one answer or error, no retries.

import { Agent, request as send, type IncomingMessage } from "node:http";

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: string;
}

export interface RequestOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Time-out of the request in milliseconds; 15,000 when absent. */
  readonly timeoutMs?: number;
  /** Called with the local port of the request. */
  readonly onPort?: (port: number) => void;
}

export interface HttpClient {
  /**
   * Resolves with the complete answer; rejects if the connection fails, breaks, or the answer is too late.
   */
  request(path: string, options?: RequestOptions): Promise<Answer>;
  close(): void;
}

/** Creates a client of the server at `port` of the loopback address, with keep-alive connections. */
export function createHttpClient(port: number, maxSockets = 256): HttpClient {
  const agent = new Agent({ keepAlive: true, maxSockets });
  return {
    request: (path, options = {}) =>
      new Promise((resolve, reject) => {
        options.onPort?.(port);
        const signal = AbortSignal.timeout(options.timeoutMs ?? 15_000);
        const outgoing = send(
          {
            host: "127.0.0.1",
            port,
            path,
            agent,
            signal,
            method: options.method ?? "GET",
            headers: { ...options.headers, ...(options.body !== undefined && jsonHeaders(options.body)) },
          },
          (incoming) => void collect(incoming).then(resolve, reject),
        );
        outgoing.once("error", reject);
        outgoing.end(options.body);
      }),
    close: () => agent.destroy(),
  };
}

function jsonHeaders(body: string): Record<string, string> {
  return { "content-type": "application/json", "content-length": String(Buffer.byteLength(body)) };
}

async function collect(incoming: IncomingMessage): Promise<Answer> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  if (!incoming.complete) throw new Error("The answer was truncated");
  return {
    status: incoming.statusCode ?? 0,
    headers: incoming.headers,
    body: Buffer.concat(chunks).toString("utf8"),
  };
}

// A plain HTTP client for servers that die in the middle of an answer: one request, one answer or one error, never a retry.

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
  /** Milliseconds until the request is given up; 15,000 when absent. */
  readonly timeoutMs?: number;
  /** Told of the port that the request is sent to. */
  readonly onPort?: (port: number) => void;
}

export interface HttpClient {
  /** Resolves with the whole answer; rejects when the connection fails, is cut, or answers too late. */
  request(path: string, options?: RequestOptions): Promise<Answer>;
  close(): void;
}

/** A client of the server at `port` of the loopback address, which keeps its connections open. */
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
  if (!incoming.complete) throw new Error("The answer was cut off");
  return {
    status: incoming.statusCode ?? 0,
    headers: incoming.headers,
    body: Buffer.concat(chunks).toString("utf8"),
  };
}

// A proxy between client and service that injects faults, request by request.

import { once } from "node:events";
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from "node:http";

/**
 * `refuse`: breaks the connection before forwarding the request. `lose`: lets the service do its work, then
 * breaks the connection before the answer. `swallow`: drops the answer silently. A number: closes the
 * connection after so many bytes of the answer's body. `collects`: passes the body on in blocks of so many bytes,
 * which a test may change. `holds`: reads the request's body once the promise resolves. Otherwise an answer of the
 * proxy's own.
 */
export type Fault =
  | "refuse"
  | "lose"
  | "swallow"
  | number
  | { collects: number }
  | { readonly holds: Promise<void> }
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string };

type Collecting = Extract<Fault, { collects: number }>;
type Holding = Extract<Fault, { holds: Promise<void> }>;

export class FaultProxy {
  /** Decides the fault of a request; `null` forwards it. */
  plan: (request: {
    readonly method: string;
    readonly path: string;
    readonly query: string;
  }) => Fault | null = () => null;
  /** Each request as `METHOD path`, without its query. */
  readonly seen: string[] = [];
  /** Headers of the requests, in order. */
  readonly heads: IncomingMessage["headers"][] = [];
  /** URL of the service. */
  target: string;
  readonly #server: Server;
  readonly #open = new Set<ServerResponse>();

  private constructor(target: string) {
    this.target = target;
    this.#server = createServer((message, response) => this.#pass(message, response));
  }

  static async start(target: string): Promise<FaultProxy> {
    const proxy = new FaultProxy(target);
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    return proxy;
  }

  get url(): string {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("The proxy is not listening");
    return `http://127.0.0.1:${address.port}`;
  }

  /** Number of open streams. */
  get streams(): number {
    return [...this.#open].filter(({ req }) => req.url?.startsWith("/api/updates")).length;
  }

  /** Resets every connection, whatever it carries. */
  cut(): void {
    for (const response of this.#open) response.socket?.resetAndDestroy();
  }

  async stop(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, "close");
  }

  #pass(message: IncomingMessage, response: ServerResponse): void {
    const { method = "GET", url = "/" } = message;
    const path = url.replace(/\?.*/s, "");
    this.seen.push(`${method} ${path}`);
    this.heads.push(message.headers);
    this.#open.add(response);
    response.on("close", () => this.#open.delete(response));
    const fault = this.plan({ method, path, query: url.slice(path.length) });
    if (fault === "refuse") response.socket?.resetAndDestroy();
    else if (fault !== null && typeof fault === "object" && "status" in fault) {
      response.writeHead(fault.status, fault.headers).end(fault.body);
    } else this.#forward(message, response, fault);
  }

  #forward(
    message: IncomingMessage,
    response: ServerResponse,
    fault: "lose" | "swallow" | number | Collecting | Holding | null,
  ): void {
    const { hostname, port } = new URL(this.target);
    const { method, headers } = message;
    const outgoing = request(
      { hostname, port, method, path: message.url, headers, agent: false },
      (answer) => {
        if (fault === "swallow") return;
        if (fault === "lose") {
          answer.resume().on("end", () => response.socket?.resetAndDestroy());
          return;
        }
        response.writeHead(answer.statusCode ?? 0, answer.rawHeaders);
        response.flushHeaders();
        if (typeof fault === "object" && fault !== null && "collects" in fault) {
          collect(answer, response, fault);
          return;
        }
        let left = typeof fault === "number" ? fault : Number.POSITIVE_INFINITY;
        answer.on("data", (bytes: Buffer) => {
          const through = bytes.subarray(0, left);
          left -= through.length;
          // Not a reset, which discards bytes that the client has received but not read.
          response.write(through, () => left === 0 && response.socket?.end());
        });
        answer.on("end", () => response.end()).on("error", () => response.destroy());
      },
    );
    outgoing.on("error", () => response.destroy());
    response.on("close", () => outgoing.destroy());
    const isHeld = typeof fault === "object" && fault !== null && "holds" in fault;
    if (isHeld) void fault.holds.then(() => message.pipe(outgoing));
    else message.pipe(outgoing);
  }
}

/** Passes on an answer as a proxy does that fills its buffer first. */
function collect(answer: IncomingMessage, response: ServerResponse, fault: Readonly<Collecting>): void {
  let held = Buffer.alloc(0);
  answer.on("data", (bytes: Buffer) => {
    held = Buffer.concat([held, bytes]);
    const full = held.length - (held.length % fault.collects);
    if (full > 0) response.write(held.subarray(0, full));
    held = held.subarray(full);
  });
  answer.on("end", () => response.end(held)).on("error", () => response.destroy());
}

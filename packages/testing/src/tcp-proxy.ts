// A proxy between a client and a server on the loopback with network faults: cut, reset, drop, silence,
// delay, one-way loss.

import { once } from "node:events";
import { createConnection, createServer, type Server, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** A connection through the proxy. */
export interface Link {
  readonly client: Socket;
  readonly server: Socket;
}

/** Direction in which bytes flow. */
export type Way = "up" | "down";

/** Handles bytes from a client; they are not forwarded automatically. */
export type FromClient = (bytes: Buffer, link: Link) => void;

export class TcpProxy {
  /** `null` forwards everything. */
  fromClient: FromClient | null = null;
  /** True to hold bytes in both directions, without notice. */
  isSilent = false;
  /** Extra latency in milliseconds. Changes do not reorder bytes. */
  delayMs = 0;
  /** True to break accepted connections at once. */
  isBroken = false;
  /** Port to which new connections go. */
  target: number;
  readonly #server: Server;
  readonly #links = new Set<Link>();
  /** Directions that are held. Their bytes arrive when released. */
  readonly #held = new Map<Way, PromiseWithResolvers<void>>();

  readonly #wait: (ms: number) => Promise<unknown>;

  private constructor(server: Server, target: number, wait: (ms: number) => Promise<unknown>) {
    this.#server = server;
    this.target = target;
    this.#wait = wait;
  }

  /** `wait` implements delays. */
  static async start(target: number, wait: (ms: number) => Promise<unknown> = sleep): Promise<TcpProxy> {
    const server = createServer();
    const proxy = new TcpProxy(server, target, wait);
    server.on("connection", (client) => proxy.#connect(client));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return proxy;
  }

  get port(): number {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("The proxy is not listening");
    return address.port;
  }

  async stop(): Promise<void> {
    this.cut();
    this.#server.close();
    await once(this.#server, "close");
  }

  /** Closes every connection. */
  cut(): void {
    for (const { client, server } of this.#links) {
      client.destroy();
      server.destroy();
    }
  }

  /** Resets every connection (RST), which is an error on both sides. */
  reset(): void {
    for (const { client, server } of this.#links) {
      client.resetAndDestroy();
      server.resetAndDestroy();
    }
  }

  /** Holds this direction until `release`. */
  hold(way: Way): void {
    if (!this.#held.has(way)) this.#held.set(way, Promise.withResolvers());
  }

  release(way: Way): void {
    this.#held.get(way)?.resolve();
    this.#held.delete(way);
  }

  #connect(client: Socket): void {
    if (this.isBroken) {
      client.on("error", () => undefined).destroy();
      return;
    }
    const server = createConnection(this.target, "127.0.0.1");
    const link = { client, server };
    this.#links.add(link);
    const [up, down] = [this.#carrier(server, "up"), this.#carrier(client, "down")];
    const end = (): void => {
      this.#links.delete(link);
    };
    for (const socket of [client, server]) socket.on("error", () => undefined);
    client.on("data", (bytes: Buffer) => {
      if (this.isSilent) return;
      if (this.fromClient === null) up(bytes);
      else this.fromClient(bytes, link);
    });
    server.on("data", (bytes: Buffer) => {
      if (!this.isSilent) down(bytes);
    });
    client.on("close", () => {
      server.destroy();
      end();
    });
    server.on("close", () => client.destroy());
  }

  /** Returns a function that delivers bytes to a socket in order, with the latency. */
  #carrier(to: Socket, way: Way): (bytes: Buffer) => void {
    let before: Promise<void> | null = null;
    return (bytes) => {
      if (before === null && this.delayMs === 0 && !this.#held.has(way)) {
        to.write(bytes);
        return;
      }
      const due = performance.now() + this.delayMs;
      const carried: Promise<void> = (before ?? Promise.resolve()).then(async () => {
        const left = due - performance.now();
        if (left > 0) await this.#wait(left);
        await this.#held.get(way)?.promise;
        if (!to.destroyed) to.write(bytes);
        if (before === carried) before = null;
      });
      before = carried;
    };
  }
}

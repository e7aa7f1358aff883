// Stands between a client and a server on the loopback and does what a network may do: cut, swallow, fall silent.

import { once } from "node:events";
import { createConnection, createServer, type Server, type Socket } from "node:net";

/** One connection through the proxy. */
export interface Link {
  readonly client: Socket;
  readonly server: Socket;
}

/** What becomes of bytes that a client sends; they go nowhere by themselves. */
export type FromClient = (bytes: Buffer, link: Link) => void;

export class TcpProxy {
  /** `null` to pass everything on. */
  fromClient: FromClient | null = null;
  /** While true nothing goes through in either direction, and nobody is told. */
  isSilent = false;
  readonly #server: Server;
  readonly #links = new Set<Link>();

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(target: number): Promise<TcpProxy> {
    const server = createServer();
    const proxy = new TcpProxy(server);
    server.on("connection", (client) => proxy.#connect(client, target));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return proxy;
  }

  get port(): number {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("The proxy does not listen");
    return address.port;
  }

  async stop(): Promise<void> {
    this.cut();
    this.#server.close();
    await once(this.#server, "close");
  }

  /** Breaks every connection. */
  cut(): void {
    for (const { client, server } of this.#links) {
      client.destroy();
      server.destroy();
    }
  }

  #connect(client: Socket, target: number): void {
    const server = createConnection(target, "127.0.0.1");
    const link = { client, server };
    this.#links.add(link);
    const end = (): void => {
      this.#links.delete(link);
    };
    for (const socket of [client, server]) socket.on("error", () => undefined);
    client.on("data", (bytes: Buffer) => {
      if (this.isSilent) return;
      if (this.fromClient === null) server.write(bytes);
      else this.fromClient(bytes, link);
    });
    server.on("data", (bytes) => {
      if (!this.isSilent) client.write(bytes);
    });
    client.on("close", () => {
      server.destroy();
      end();
    });
    server.on("close", () => client.destroy());
  }
}

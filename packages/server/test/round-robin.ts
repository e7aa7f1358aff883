// A load balancer of the plainest kind: it gives each connection to the next server, and passes bytes on as they are.

import { once } from "node:events";
import { createConnection, createServer, type Server, type Socket } from "node:net";

export class RoundRobin {
  /** Ports of the servers on the loopback. */
  targets: readonly number[] = [];
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #next = 0;

  private constructor(server: Server) {
    this.#server = server;
    server.on("connection", (client: Socket) => this.#connect(client));
  }

  static async start(): Promise<RoundRobin> {
    const server = createServer({ allowHalfOpen: true });
    const balancer = new RoundRobin(server);
    await once(server.listen(0, "127.0.0.1"), "listening");
    return balancer;
  }

  get port(): number {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("The proxy does not listen");
    return address.port;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, "close");
  }

  #connect(client: Socket): void {
    const port = this.targets[this.#next % this.targets.length] ?? 0;
    this.#next += 1;
    const server = createConnection({ port, host: "127.0.0.1", allowHalfOpen: true });
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      this.#sockets.add(socket);
      socket.on("error", () => other.destroy());
      socket.on("close", () => {
        this.#sockets.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  }
}

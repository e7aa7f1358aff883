// A minimal load balancer: forwards each connection unchanged to the next server.

import { once } from "node:events";
import { createConnection, createServer, type Server, type Socket } from "node:net";

/**
 * Start of a later request on a connection: clients here wait for each answer, so that it is also the start
 * of a chunk.
 */
const BEGINS_REQUEST = /^(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS) \//;

export class RoundRobin {
  /** Ports of the servers on the loopback. */
  targets: readonly number[] = [];
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** Number of connections of each target, by index. */
  readonly #connections = new Map<number, number>();
  /** Number of requests on each connection. */
  readonly #requests: number[] = [];
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
    if (address === null || typeof address === "string") throw new Error("The proxy is not listening");
    return address.port;
  }

  /**
   * Throws unless requests were spread evenly: as many connections for each server, and one request on each.
   */
  checkSpread(): void {
    const connections = this.targets.map((_port, place) => this.#connections.get(place) ?? 0);
    if (Math.max(...connections) - Math.min(...connections) > 1)
      throw new Error(`Uneven spread: ${connections.join(", ")} connections`);
    const wrong = this.#requests.filter((count) => count !== 1);
    if (wrong.length > 0) throw new Error(`Connections had ${wrong.join(", ")} requests instead of one each`);
  }

  /** Closes all connections. Browsers keep theirs half open, and a server that stops would wait two seconds for each. */
  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async stop(): Promise<void> {
    this.cut();
    this.#server.close();
    await once(this.#server, "close");
  }

  #connect(client: Socket): void {
    const port = this.targets[this.#next % this.targets.length] ?? 0;
    this.#next += 1;
    this.#count(client, port);
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

  /** Counts the actual target, not the planned one. */
  #count(client: Socket, port: number): void {
    const place = this.targets.indexOf(port);
    this.#connections.set(place, (this.#connections.get(place) ?? 0) + 1);
    const connection = this.#requests.push(0) - 1;
    client.on("data", (bytes: Buffer) => {
      const isFirst = this.#requests[connection] === 0;
      if (isFirst || BEGINS_REQUEST.test(bytes.toString("latin1", 0, 10))) this.#requests[connection]! += 1;
    });
  }
}

// A load balancer of the plainest kind: it gives each connection to the next server, and passes bytes on as they are.

import { once } from "node:events";
import { createConnection, createServer, type Server, type Socket } from "node:net";

/** How a request begins after another one: clients here wait for the answer before, so that it begins a piece of what arrives. */
const BEGINS_REQUEST = /^(?:GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS) \//;

export class RoundRobin {
  /** Ports of the servers on the loopback. */
  targets: readonly number[] = [];
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  /** Connections that each target has had, by its place. */
  readonly #connections = new Map<number, number>();
  /** Requests on each connection. */
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
    if (address === null || typeof address === "string") throw new Error("The proxy does not listen");
    return address.port;
  }

  /** Throws unless each request has met another server than the one before: as many for each server, and one on each connection. */
  checkSpread(): void {
    const connections = this.targets.map((_port, place) => this.#connections.get(place) ?? 0);
    if (Math.max(...connections) - Math.min(...connections) > 1)
      throw new Error(`Not all servers were met as often: ${connections.join(", ")} connections`);
    const wrong = this.#requests.filter((count) => count !== 1);
    if (wrong.length > 0)
      throw new Error(`Connections carried ${wrong.join(", ")} requests, where each has to carry one`);
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
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

  /** What is counted is where the connection goes, not where it should. */
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

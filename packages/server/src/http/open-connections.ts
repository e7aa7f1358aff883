import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/**
 * The connections of a server, for the moment when it closes. Node's own closing of idle connections cuts off an answer that was
 * written and not yet taken by its client; this one waits for that.
 */
export class OpenConnections {
  readonly #server: Server;
  /** How many answers are under way on each. */
  readonly #answers = new Map<Socket, number>();
  #closing = false;

  constructor(server: Server) {
    this.#server = server;
    server.on("connection", (socket: Socket) => {
      this.#answers.set(socket, 0);
      socket.once("close", () => this.#answers.delete(socket));
    });
    server.on("request", ({ socket }: IncomingMessage, response: ServerResponse) => {
      this.#count(socket, 1);
      response.once("close", () => {
        this.#count(socket, -1);
        this.#closeIfIdle(socket);
      });
    });
  }

  /** From now on each connection is closed as soon as nothing is being answered on it. An answer has ended when the system has taken it all. */
  closeWhenIdle(): void {
    this.#closing = true;
    this.#server.closeIdleConnections = () => undefined;
    for (const socket of this.#answers.keys()) this.#closeIfIdle(socket);
  }

  #count(socket: Socket, by: number): void {
    const answers = this.#answers.get(socket);
    if (answers !== undefined) this.#answers.set(socket, answers + by);
  }

  #closeIfIdle(socket: Socket): void {
    if (this.#closing && this.#answers.get(socket) === 0) socket.destroy();
  }
}

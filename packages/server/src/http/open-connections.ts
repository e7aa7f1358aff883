import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/**
 * The connections of a server, for the moment when it closes. Node's own closing of idle connections cuts off an answer that was
 * written and not yet taken by its client; this one waits for that. Until then a request costs one entry and no listener.
 */
export class OpenConnections {
  readonly #server: Server;
  /** The answer that was begun last on each: answers of a connection end in their order. */
  readonly #lastAnswers = new Map<Socket, ServerResponse | null>();
  #closing = false;

  constructor(server: Server) {
    this.#server = server;
    server.on("connection", (socket: Socket) => {
      this.#lastAnswers.set(socket, null);
      socket.once("close", () => this.#lastAnswers.delete(socket));
    });
    server.on("request", ({ socket }: IncomingMessage, response: ServerResponse) => {
      this.#lastAnswers.set(socket, response);
      if (this.#closing) response.once("close", () => this.#closeIfIdle(socket));
    });
  }

  /** From now on each connection is closed as soon as nothing is being answered on it. An answer has ended when the system has taken it all. */
  closeWhenIdle(): void {
    this.#closing = true;
    this.#server.closeIdleConnections = () => undefined;
    for (const [socket, response] of this.#lastAnswers) {
      response?.once("close", () => this.#closeIfIdle(socket));
      this.#closeIfIdle(socket);
    }
  }

  #closeIfIdle(socket: Socket): void {
    const response = this.#lastAnswers.get(socket);
    if (response === null || response?.closed === true) socket.destroy();
  }
}

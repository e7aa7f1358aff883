import type { Server } from "node:http";
import type { Socket } from "node:net";
import { answering } from "./answering.ts";
import { closeAndLinger } from "./lingering-close.ts";

/**
 * The connections of a server, for the moment when it closes. Node's own closing of idle connections cuts off an answer that was
 * written and not yet taken by its client; this one waits for that. Until then a request costs nothing: an answer that is kept here
 * after its end is one that the garbage collector has to carry, with all that it holds, which cost a fifth of the polls.
 */
export class OpenConnections {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  constructor(server: Server) {
    this.#server = server;
    server.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    });
  }

  /** From now on each connection is closed as soon as nothing is being answered on it. An answer has ended when the system has taken it all. */
  closeWhenIdle(): void {
    this.#server.closeIdleConnections = () => undefined;
    for (const socket of this.#sockets) closeWhenIdle(socket);
  }
}

/** Answers of a connection end in their order, and when one has, the next has its place. */
function closeWhenIdle(socket: Socket): void {
  const response = answering(socket);
  if (response === null) closeAndLinger(socket);
  else response.once("close", () => closeWhenIdle(socket));
}

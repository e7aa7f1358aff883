import type { Server } from "node:http";
import type { Socket } from "node:net";

/** The connections of a server, for the moment before it closes. */
export class OpenConnections {
  readonly #sockets = new Set<Socket>();

  constructor(server: Server) {
    server.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    });
  }

  /** Whether clients have taken all that was written to them. */
  get areDrained(): boolean {
    for (const socket of this.#sockets) if (socket.writableLength > 0) return false;
    return true;
  }
}

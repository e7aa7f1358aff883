import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { Clock, Timer } from "../core/ports/driven/clock.ts";

const LOOK_MS = 5000;
/** Looks without progress after the first one: 30 seconds. */
const LOOKS = 6;

/** What Node keeps of a socket in the operating system; its own time-outs read these too. */
interface Handle {
  /** Bytes given to the handle. */
  readonly bytesWritten: number;
  /** Bytes of them that the operating system has not taken yet. */
  readonly writeQueueSize: number;
}

interface Stall {
  readonly taken: number;
  looks: number;
}

/**
 * Closes connections whose client has taken nothing of an answer for 30 seconds, whatever the answer: what it has not read is memory.
 * Counts looks and not time, so that connections survive a pause of this process.
 */
export class StalledConnections {
  readonly #sockets = new Set<Socket>();
  /** Connections with bytes that their client has not taken. */
  readonly #stalls = new WeakMap<Socket, Stall>();
  readonly #timer: Timer;

  constructor(server: Server, clock: Pick<Clock, "every">) {
    server.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    });
    this.#timer = clock.every(LOOK_MS, () => {
      for (const socket of this.#sockets) this.#look(socket);
    });
  }

  stop(): void {
    this.#timer.stop();
  }

  #look(socket: Socket): void {
    if (socket.writableLength === 0) {
      this.#stalls.delete(socket);
      return;
    }
    const taken = takenOf(socket);
    const before = this.#stalls.get(socket);
    if (before?.taken !== taken) {
      this.#stalls.set(socket, { taken, looks: 0 });
      return;
    }
    before.looks += 1;
    // A reset, because a plain close leaves what is unread in the operating system's memory.
    if (before.looks >= LOOKS) socket.resetAndDestroy();
  }
}

/** Bytes that the operating system has taken: grows while the client reads, also in the middle of one large write. */
function takenOf(socket: Socket): number {
  const { _handle: handle } = socket as { readonly _handle?: Handle | null };
  return handle === undefined || handle === null ? 0 : handle.bytesWritten - handle.writeQueueSize;
}

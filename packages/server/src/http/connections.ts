// Closing a connection so that its client can read the last answer. A socket that is closed while bytes of a request are
// unread resets the connection, and a reset discards what the client has not read yet (RFC 9112 section 9.6).

import type { Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Clock, Timer } from "../core/ports/driven/clock.ts";
import { isEventStream } from "./event-stream.ts";

/** Milliseconds without a byte from the client after which the connection is destroyed. */
const IDLE_MS = 2000;
/** Milliseconds for which a client may go on sending at all. */
const TOTAL_MS = 30_000;

/** Makes connections linger that Node closes after an answer with `Connection: close`. */
export function lingerAfterLastAnswer(server: Server): void {
  server.on("connection", (socket: Socket) => {
    // Node's own method destroys the socket when its last byte is written.
    socket.destroySoon = () => closeAndLinger(socket);
  });
}

/**
 * Finishes an answer that has begun when its client ends its side. Node would cut it off; a client whose answer has not begun, or
 * that follows an event stream, is taken to be gone, as Node does.
 */
export function finishAfterHalfClose(server: Server): void {
  // Not in Node's documentation and types: the answer in progress becomes the last one of its connection.
  Object.assign(server, { httpAllowHalfOpen: true });
  server.on("connection", (socket: Socket) => {
    socket.on("end", () => {
      const current = answering(socket);
      if (current !== null && (!current.headersSent || isEventStream(current))) socket.destroy();
    });
  });
}

/** Ends our side, and discards what the client sends until it ends its side or its time is up. */
export function closeAndLinger(socket: Duplex): void {
  if (socket.writableEnded) return;
  const destroy = () => socket.destroy();
  const idle = setTimeout(destroy, IDLE_MS).unref();
  const total = setTimeout(destroy, TOTAL_MS).unref();
  socket.once("close", () => {
    clearTimeout(idle);
    clearTimeout(total);
  });
  // The socket destroys itself when both sides have ended.
  socket.end();
  discardInput(socket).on("data", () => idle.refresh());
}

/** Takes the connection from the HTTP parser, so that no further request is read, and discards what the client sends. */
export function discardInput(socket: Duplex): Duplex {
  return socket
    .removeAllListeners("data")
    .on("data", () => {})
    .resume();
}

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

/** The answer that is being sent on a connection. Node keeps it there, and its own `closeIdleConnections` looks there too. */
export function answering(socket: Duplex): ServerResponse | null {
  return (socket as { readonly _httpMessage?: ServerResponse | null })._httpMessage ?? null;
}

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

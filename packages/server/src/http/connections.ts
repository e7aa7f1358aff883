// Closes connections so that clients can read the last response. Closing a socket with unread input resets
// the connection, and a reset discards output that the client has not read yet (RFC 9112 section 9.6).

import type { Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Clock, Timer } from "@colloquy/engine/internal/core/ports/driven/clock";
import { isEventStream } from "./event-stream.ts";

/** Milliseconds for which an idle connection stays open: longer than the 60 s after which common proxies close theirs. */
export const KEEP_ALIVE_MS = 72_000;
/** Milliseconds without a byte from the client after which the connection is destroyed. */
const IDLE_MS = 2000;
/** Maximum milliseconds for which a client may keep sending. */
const TOTAL_MS = 30_000;

/**
 * Keeps connections open for a while after a response with `Connection: close`; Node would close them at
 * once.
 */
export function lingerAfterLastAnswer(server: Server): void {
  server.on("connection", (socket: Socket) => {
    // Node's own method destroys the socket when its last byte is written.
    socket.destroySoon = () => closeAndLinger(socket);
  });
}

/**
 * Finishes a response in progress when its client half-closes; Node would cut it off. As in Node, a client
 * counts as disconnected if its response has not begun or is an event stream.
 */
export function finishAfterHalfClose(server: Server): void {
  // Undocumented in Node: makes the response in progress the last one of its connection.
  Object.assign(server, { httpAllowHalfOpen: true });
  server.on("connection", (socket: Socket) => {
    socket.on("end", () => {
      const current = answering(socket);
      if (current !== null && (!current.headersSent || isEventStream(current))) socket.destroy();
    });
  });
}

/** Ends the server's side, and discards input until the client ends its side or its time is up. */
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

/** Detaches the HTTP parser from the connection and discards further input, so that no further request is read. */
export function discardInput(socket: Duplex): Duplex {
  return socket
    .removeAllListeners("data")
    .on("data", () => {})
    .resume();
}

const CHECK_MS = 5000;
/** Maximum number of checks without progress (30 seconds) after the first one. */
const STALLED_CHECKS = 6;

/** Node's internal state of a socket, which its own time-outs read too. */
interface Handle {
  /** Bytes passed to the handle. */
  readonly bytesWritten: number;
  /** Bytes passed to the handle that the operating system has not accepted yet. */
  readonly writeQueueSize: number;
}

interface Stall {
  readonly taken: number;
  checks: number;
}

/**
 * The connections of a server. Closes a connection whose client has read nothing of a response for 30
 * seconds, because unread bytes take memory. Counts checks instead of time, so that connections survive a
 * pause of this process. When the server closes, waits until clients have read their responses, unlike Node's
 * `closeIdleConnections`.
 */
export class OpenConnections {
  readonly #server: Server;
  // Stores sockets instead of responses: retaining responses made garbage collection cost a fifth of the polls.
  readonly #sockets = new Set<Socket>();
  /** Connections with unread output, and their number of checks without progress. */
  readonly #stalls = new WeakMap<Socket, Stall>();
  readonly #timer: Timer;

  constructor(server: Server, clock: Pick<Clock, "every">) {
    this.#server = server;
    server.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    });
    this.#timer = clock.every(CHECK_MS, () => {
      for (const socket of this.#sockets) this.#closeIfStalled(socket);
    });
  }

  /**
   * Closes each connection as soon as it has no response to send. A response ends when the operating system
   * has taken all of it.
   */
  closeWhenIdle(): void {
    this.#server.closeIdleConnections = () => undefined;
    for (const socket of this.#sockets) closeWhenIdle(socket);
  }

  /** Ends the checks for stalled connections. */
  stop(): void {
    this.#timer.stop();
  }

  #closeIfStalled(socket: Socket): void {
    if (socket.writableLength === 0) {
      this.#stalls.delete(socket);
      return;
    }
    const taken = takenOf(socket);
    const before = this.#stalls.get(socket);
    if (before?.taken !== taken) {
      this.#stalls.set(socket, { taken, checks: 0 });
      return;
    }
    before.checks += 1;
    // A reset, because a normal close leaves the unread bytes in the operating system's memory.
    if (before.checks >= STALLED_CHECKS) socket.resetAndDestroy();
  }
}

/**
 * Closes the connection after its response. The responses of a connection end in order, and the next one
 * takes the place of the one that ended.
 */
function closeWhenIdle(socket: Socket): void {
  const response = answering(socket);
  if (response === null) closeAndLinger(socket);
  else response.once("close", () => closeWhenIdle(socket));
}

/** Returns the response that is being sent on a connection. Node keeps it there for its own `closeIdleConnections`. */
export function answering(socket: Duplex): ServerResponse | null {
  return (socket as { readonly _httpMessage?: ServerResponse | null })._httpMessage ?? null;
}

/**
 * Returns the number of bytes that the operating system has accepted. It grows while the client reads, even
 * during one large write.
 */
function takenOf(socket: Socket): number {
  const { _handle: handle } = socket as { readonly _handle?: Handle | null };
  return handle === undefined || handle === null ? 0 : handle.bytesWritten - handle.writeQueueSize;
}

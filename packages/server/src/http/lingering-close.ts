// Closing a connection so that its client can read the last answer. A socket that is closed while bytes of a request are
// unread resets the connection, and a reset discards what the client has not read yet (RFC 9112 section 9.6).

import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { answering } from "./answering.ts";
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

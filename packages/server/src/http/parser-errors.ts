// Responds to requests that Node's HTTP parser, its time-outs or its protocol hooks refuse: a problem
// document (contract section 6), written to the bare socket.

import { STATUS_CODES, type IncomingMessage, type ServerResponse, type Server } from "node:http";
import type { Duplex } from "node:stream";
import { InvalidRequest, ServiceError } from "@colloquy/engine/internal/core/errors";
import { answering, closeAndLinger, discardInput } from "./connections.ts";
import { isEventStream } from "./event-stream.ts";
import { problemBytes, PROBLEM_TYPE } from "./problem.ts";

/**
 * Maximum bytes of a request's URL and headers. The longest message fits into a URL, at 9 bytes a character
 * (contract section 6).
 */
export const HEAD_MAX_BYTES = 320 * 1024;

/**
 * Responds to a request that the parser refused, after the responses to the requests before it. Ends an event
 * stream, which would never end by itself.
 */
export function refuseConnection(
  error: Error & { code?: string },
  socket: Duplex,
  nextId: () => string,
): void {
  if (socket.writableEnded) return;
  // The parser would report an error for each further packet.
  discardInput(socket);
  if (error.code === "ECONNRESET") socket.destroy();
  else refuseInTurn(error, socket, nextId);
}

function refuseInTurn(error: Error & { code?: string }, socket: Duplex, nextId: () => string): void {
  if (socket.writableEnded) return;
  const current = answering(socket);
  if (!socket.writable || (current !== null && isEventStream(current))) {
    socket.destroy();
  } else if (current !== null && (current.headersSent || current.req.complete)) {
    // This response belongs to an earlier request, or has begun. The refusal follows it before the connection
    // closes.
    current.once("close", () => refuseInTurn(error, socket, nextId));
  } else {
    endWith(socket, rawProblem(fromParser(error), nextId()));
  }
}

/** Responds on a connection before its first request, and closes it without waiting for the client. */
export function refuseAtOnce(error: ServiceError, socket: Duplex, id: string): void {
  discardInput(socket).end(rawProblem(error, id), () => socket.destroy());
}

/** Writes the last response on a connection and closes it. */
function endWith(socket: Duplex, answer: Buffer): void {
  socket.write(answer);
  closeAndLinger(socket);
}

/**
 * Sends `100 Continue` after the responses to earlier requests of the connection. Node would write it at
 * once, possibly between the head and the body of a response in progress.
 */
export function continueInTurn(server: Server): void {
  server.on("checkContinue", (message: IncomingMessage, response: ServerResponse) => {
    if (response.socket !== null) response.writeContinue();
    else response.once("socket", () => !response.headersSent && response.writeContinue());
    server.emit("request", message, response);
  });
}

/** Responds to `CONNECT` and unknown expectations, which the framework does not handle. */
export function refuseProtocolExtras(server: Server, nextId: (message: IncomingMessage) => string): void {
  server.on("connect", (message: IncomingMessage, socket: Duplex) => {
    socket.on("error", () => socket.destroy());
    const refusal = new ServiceError(
      405,
      "method_not_allowed",
      "This server is not a proxy and does not support CONNECT.",
      {
        headers: { allow: "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS" },
      },
    );
    // The server's time-outs no longer cover this socket.
    endWith(socket, rawProblem(refusal, nextId(message)));
  });
  server.on("checkExpectation", (message: IncomingMessage, response: ServerResponse) => {
    const id = nextId(message);
    const refusal = new ServiceError(417, "expectation_failed", "Send no Expect header, or 100-continue.");
    const body = problemBytes(refusal, id);
    response.writeHead(refusal.status, { ...rawFields(id), "content-length": body.length });
    response.end(body);
  });
}

function fromParser(error: Error & { code?: string }): ServiceError {
  switch (error.code) {
    case "HPE_HEADER_OVERFLOW":
      return new ServiceError(
        431,
        "head_too_large",
        `URL and headers may have ${HEAD_MAX_BYTES / 1024} KiB together. Send a long message in the body.`,
      );
    case "HPE_INVALID_URL":
      return new InvalidRequest(
        "url_encoding_invalid",
        "The URL contains a character that must be percent-encoded. Encode text as UTF-8 (encodeURIComponent does it).",
      );
    case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
      return new ServiceError(
        413,
        "body_too_large",
        "The chunk extensions of the body are too large. Omit them.",
      );
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return new ServiceError(408, "request_timeout", "The request did not arrive in time. Send it again.");
    default:
      return new InvalidRequest("http_invalid", "This is not a well-formed HTTP/1.1 request.");
  }
}

function rawProblem(error: ServiceError, id: string): Buffer {
  const body = problemBytes(error, id);
  const fields = { ...rawFields(id), ...error.headers, "content-length": String(body.length) };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status] ?? ""}\r\n${lines.join("")}\r\n`;
  return Buffer.concat([Buffer.from(head, "latin1"), body]);
}

function rawFields(id: string): Record<string, string> {
  return {
    "content-type": PROBLEM_TYPE,
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "x-request-id": id,
    connection: "close",
  };
}

// Requests that never become one: what Node's HTTP parser, its time-outs and its protocol hooks refuse. They get a problem
// document like everybody else (contract section 6), written to the bare socket.

import { STATUS_CODES, type IncomingMessage, type ServerResponse } from "node:http";
import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { InvalidRequest, ServiceError } from "../core/errors.ts";
import { BODY_MAX_BYTES, problemBytes, PROBLEM_TYPE } from "./problem.ts";

/** URL and headers of a request, in bytes (contract section 6). */
export const HEAD_MAX_BYTES = 64 * 1024;
/** How long a refused client may go on sending before it is cut off: cut off at once, it would not read the answer. */
const LINGER_MS = 1000;

/** Answers what the parser refused. Only what has not been answered in part already gets an answer. */
export function refuseConnection(
  error: Error & { code?: string },
  socket: Duplex,
  nextId: () => string,
): void {
  if (socket.writableEnded) return;
  if (error.code === "ECONNRESET" || !socket.writable || isAnswering(socket)) {
    socket.destroy();
    return;
  }
  endWith(socket, rawProblem(fromParser(error), nextId()));
}

/** The last words on a connection: a client that does not close it then is cut off. */
function endWith(socket: Duplex, answer: Buffer): void {
  socket.end(answer);
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}

/** Answers the protocol's hooks that the framework knows nothing of. */
export function refuseProtocolExtras(server: Server, nextId: (message: IncomingMessage) => string): void {
  server.on("connect", (message: IncomingMessage, socket: Duplex) => {
    socket.on("error", () => socket.destroy());
    const refusal = new ServiceError(
      405,
      "method_not_allowed",
      "This is no proxy: CONNECT is not answered.",
      {
        headers: { allow: "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS" },
      },
    );
    // The socket has left the server's hands, and with them its time-outs.
    endWith(socket, rawProblem(refusal, nextId(message)));
  });
  server.on("checkExpectation", (message: IncomingMessage, response: ServerResponse) => {
    const id = nextId(message);
    const refusal = new ServiceError(417, "expectation_failed", "Send no Expect header but 100-continue.");
    const body = problemBytes(refusal, id);
    response.writeHead(refusal.status, { ...rawFields(id), "content-length": body.length });
    response.end(body);
  });
}

/** Whether an answer has begun on the socket; `_httpMessage` is how Node's own handler knows. */
function isAnswering(socket: Duplex): boolean {
  const { _httpMessage: current } = socket as Socket & { _httpMessage?: ServerResponse | null };
  return current?.headersSent === true;
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
        "The URL holds a character that must be percent-encoded. Encode text as UTF-8 (encodeURIComponent does it).",
      );
    case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
      return new ServiceError(413, "body_too_large", `Send a body of at most ${BODY_MAX_BYTES / 1024} KiB.`);
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

// Reads request bodies within the limits of their route, their address and the process.

import type { IncomingMessage } from "node:http";
import type { FastifyRequest } from "fastify";
import { InvalidRequest, ServiceError } from "@colloquy/engine/internal/core/errors";
import type { BodiesInFlight, BodyInFlight } from "./bodies-in-flight.ts";
import { addressKeyOf } from "./client-address.ts";
import { bodyTooLarge } from "./problem.ts";
import { parseBody } from "./request.ts";

/** Maximum milliseconds for a body to arrive. Node's limit of a whole request is that of a file. */
const BODY_TIMEOUT_MS = 30_000;

type BodyParser = (
  request: FastifyRequest,
  payload: IncomingMessage,
  done: (error: Error | null, body?: unknown) => void,
) => void;

/**
 * Returns the parser of all bodies. In place of Fastify's reading, which counts only the bytes of one request.
 * A refused body is not kept: Node or `connections.ts` discard the rest.
 */
export function createBodyParser(bodies: BodiesInFlight): BodyParser {
  return (request, payload, done) => {
    if (request.routeOptions.config.streamsBody === true) return done(null, payload);
    const { bodyLimit } = request.routeOptions;
    const announced = Number(request.raw.headers["content-length"] ?? 0);
    if (announced > bodyLimit) return done(bodyTooLarge(bodyLimit));
    let body: BodyInFlight;
    try {
      body = bodies.open(addressKeyOf(request), announced);
    } catch (refusal) {
      return done(refusal as Error);
    }
    const chunks: Buffer[] = [];
    let length = 0;
    const timer = setTimeout(() => {
      finish();
      chunks.length = 0;
      done(tooSlow());
    }, BODY_TIMEOUT_MS).unref();
    const finish = (): void => {
      clearTimeout(timer);
      payload.off("data", onData).off("end", onEnd).off("error", onError);
      body.release();
    };
    const onData = (chunk: Buffer): void => {
      length += chunk.length;
      try {
        if (length > bodyLimit) throw bodyTooLarge(bodyLimit);
        body.grow(chunk.length);
      } catch (refusal) {
        finish();
        chunks.length = 0;
        return done(refusal as Error);
      }
      chunks.push(chunk);
    };
    const onEnd = (): void => {
      finish();
      done(...parsed(request, Buffer.concat(chunks, length)));
    };
    const onError = (error: Error): void => {
      finish();
      done(new InvalidRequest("request_invalid", `The request could not be read: ${error.message}`));
    };
    payload.on("data", onData).on("end", onEnd).on("error", onError);
  };
}

/** The connection ends, because the rest of the body would keep it busy. */
function tooSlow(): ServiceError {
  const detail = "The request did not arrive in time. Send it again.";
  return new ServiceError(408, "request_timeout", detail, { headers: { connection: "close" } });
}

function parsed(request: FastifyRequest, bytes: Buffer): [error: Error | null, body?: unknown] {
  try {
    return [null, parseBody(request, bytes)];
  } catch (error) {
    return [error as Error];
  }
}

import type { FastifyRequest } from "fastify";
import type { Clock } from "../core/ports/driven/clock.ts";
import type { Logger } from "../core/ports/driven/logger.ts";
import type { ServiceError } from "../core/errors.ts";
import { SESSION_HEADER } from "./request.ts";
import type { HttpMetrics } from "./metrics.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Start on the monotonic clock; `UNTIMED` for requests answered at once. */
    startedAt: number;
  }
}

/** The part of the clock that the edge uses. */
export type Stopwatch = Pick<Clock, "monotonic">;

/** `startedAt` before the clock was read. Reading it costs one percent of an answer from memory. */
export const UNTIMED = -1;

/** Answers slower than this many milliseconds are logged, unless the client asked to wait. */
const SLOW_MS = 1000;
/** One in this many answers is logged at debug level. Logging each would double the cost of a request. */
const SAMPLE = 1000;

export interface RequestLog {
  /** Records the start of a request. */
  started(request: FastifyRequest): void;
  /** Records the start of an answer. `route` is the pattern; `waited` is true if the client asked for the delay. */
  answered(request: FastifyRequest, route: string, status: number, waited: boolean): void;
  /** Logs an internal failure with its cause. */
  failed(request: FastifyRequest, route: string, error: ServiceError): void;
}

/** Counts answers and logs the few that matter, without text, query, keys and whole session ids. */
export function createRequestLog(metrics: HttpMetrics, logger: Logger, clock: Stopwatch): RequestLog {
  let count = 0;
  return {
    started(request) {
      request.startedAt = clock.monotonic();
    },
    answered(request, route, status, waited) {
      const milliseconds = request.startedAt === UNTIMED ? 0 : clock.monotonic() - request.startedAt;
      metrics.answered(request.method, route, status, milliseconds);
      count += 1;
      const slow = milliseconds > SLOW_MS && !waited;
      if (!slow && count % SAMPLE !== 0) return;
      const line = { ...about(request, route), status, milliseconds: Math.round(milliseconds) };
      if (slow) logger.warn(line, "slow request");
      else logger.debug(line, "request (one of a thousand)");
    },
    failed(request, route, error) {
      const line = {
        ...about(request, route),
        status: error.status,
        code: error.code,
        ...(error.cause !== undefined && { err: error.cause }),
      };
      if (error.status === 500) logger.error(line, "request failed");
      else logger.warn(line, "request could not be served");
    },
  };
}

function about(request: FastifyRequest, route: string): object {
  const session = request.raw.headers[SESSION_HEADER];
  return {
    request_id: request.id,
    method: request.method,
    route,
    ...(typeof session === "string" && { session: session.slice(0, 8) }),
  };
}

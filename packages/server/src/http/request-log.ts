import type { FastifyRequest } from "fastify";
import type { Clock } from "../core/ports/driven/clock.ts";
import type { Logger } from "../core/ports/driven/logger.ts";
import type { ServiceError } from "../core/errors.ts";
import { SESSION_HEADER } from "./headers.ts";
import type { HttpMetrics } from "./metrics.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** When the request was first looked at, on the monotonic clock; `UNTIMED` for one that is answered at once. */
    startedAt: number;
  }
}

/** All that the edge needs of the clock. */
export type Stopwatch = Pick<Clock, "monotonic">;

/** What `startedAt` is before the clock was read. A reading costs a hundredth of an answer from memory, which takes no time to speak of. */
export const UNTIMED = -1;

/** An answer that took longer, in milliseconds, is worth a line, unless the client asked to wait. */
const SLOW_MS = 1000;
/** One answer of this many is logged at debug level. A line for each would double what a request costs. */
const SAMPLE = 1000;

export interface RequestLog {
  /** Notes when a request began. */
  started(request: FastifyRequest): void;
  /** Notes that an answer begins. `route` is the pattern of the path; `waited` when the client asked for the delay. */
  answered(request: FastifyRequest, route: string, status: number, waited: boolean): void;
  /** Logs a failure of ours with its cause. */
  failed(request: FastifyRequest, route: string, error: ServiceError): void;
}

/** Keeps count of answers and logs the few that matter: no text, no query, no key, no whole session id. */
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

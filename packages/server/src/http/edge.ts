// Checks of every request, and headers of every answer.

import type { FastifyReply, FastifyRequest } from "fastify";
import type { Readiness } from "../core/ports/driving/services.ts";
import { ServiceError } from "../core/errors.ts";
import { rateLimitFields } from "./budgets.ts";
import { crossOrigin, isPreflight, originNotAllowed } from "./cross-origin.ts";
import { hostCheck } from "./host-check.ts";
import type { HttpConfig } from "./http-config.ts";
import { readTarget } from "./query.ts";

export interface Edge {
  /** Returns the problem of a request independent of its route, or `null`. Stores the parsed query on the request. */
  refuse(request: FastifyRequest): ServiceError | null;
  /** Answers a preflight; returns false if the request is none. */
  answerPreflight(request: FastifyRequest, reply: FastifyReply): boolean;
  /**
   * Returns the header fields of every answer, in a new object. Keep them few: each costs one percent of a snapshot from memory.
   */
  fields(request: FastifyRequest): Record<string, string>;
}

/** `methodsFor` names the methods of the routes at a request target. */
export function createEdge(
  config: HttpConfig,
  readiness: Readiness,
  methodsFor: (target: string) => readonly string[],
): Edge {
  const checkHost = hostCheck(config);
  const cors = crossOrigin(config);
  return {
    refuse(request) {
      try {
        const refusal = checkHost(request.raw);
        if (refusal !== null) return refusal;
        request.query = readTarget(request.raw.url ?? "");
        return null;
      } catch (thrown) {
        if (thrown instanceof ServiceError) return thrown;
        throw thrown;
      }
    },
    answerPreflight({ raw }, reply) {
      if (!isPreflight(raw)) return false;
      const { origin = "" } = raw.headers;
      if (cors.allows(origin, raw)) {
        void reply
          .code(204)
          .headers(cors.preflight(origin, raw, methodsFor(raw.url ?? "")))
          .send();
      } else {
        void reply.send(originNotAllowed());
      }
      return true;
    },
    fields({ raw: message, id, spent }) {
      const fields: Record<string, string> = { "x-request-id": id, "cache-control": "no-store" };
      if (spent !== undefined && spent !== null && spent.length > 0)
        Object.assign(fields, rateLimitFields(spent));
      const { origin } = message.headers;
      if (origin !== undefined) {
        fields["vary"] = "Origin";
        if (cors.allows(origin, message)) Object.assign(fields, cors.fields(origin));
      }
      if (readiness.stopping) fields["connection"] = "close";
      return fields;
    },
  };
}

import type { FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import type { SnapshotView } from "../../core/ports/driving/services.ts";
import { Snapshot } from "../documented.ts";
import { preferredWait, requiredSessionId, textHeader, abortOnDisconnect } from "../request.ts";
import { ClientId, HEADERS, optional, refusals, UserStateText } from "../operation.ts";
import { UNTIMED } from "../edge.ts";
import type { HttpApp, RouteParts } from "./route-parts.ts";

export const STATE_ROUTE = "/api/state";

const StateQuery = z.object({ user_state: optional(UserStateText), client_id: optional(ClientId) });

/**
 * The hot path: responds with the bytes of a session in memory, without a promise and without reading the
 * clock.
 */
export function stateRoute(app: HttpApp, parts: RouteParts): void {
  const { guard, log } = parts;
  app.get(
    STATE_ROUTE,
    {
      schema: {
        operationId: "getState",
        summary: "Get the snapshot of a session",
        description: "Creates the session when there is none, unless it was deleted in the last ten minutes.",
        tags: ["Conversation"],
        headers: z.object({
          ...HEADERS.session,
          ...HEADERS.sessionKey,
          ...HEADERS.ifNoneMatch,
          ...HEADERS.prefer,
        }),
        querystring: StateQuery,
        response: {
          200: Snapshot,
          304: z.undefined().meta({ description: "The client has this snapshot already" }),
          ...refusals(401, 404, 429, 503, 507),
        },
      },
      config: { scope: "read" },
      // 401 precedes validation errors, and a hook for that would cost as much as the response.
      attachValidation: true,
    },
    (request, reply) => {
      const sessionId = requiredSessionId(request.raw);
      const checked = guard.requireForSession(request, sessionId);
      if (checked === undefined) return answer(parts, request, reply, sessionId);
      log.started(request);
      return checked.then(() => answer(parts, request, reply, sessionId));
    },
  );
}

function answer(
  { services, answers, admission, guard, log }: RouteParts,
  request: FastifyRequest,
  reply: FastifyReply,
  sessionId: string,
): void | Promise<void> {
  if (request.validationError !== undefined) throw request.validationError;
  const waitMs = preferredWait(textHeader(request.raw, "prefer"));
  guard.authorizeFoundSession(request);
  const { user_state: userState = null, client_id: clientId } = request.query as z.output<typeof StateQuery>;
  guard.clientOf(request, request.sessionApp, clientId ?? null);
  const found = services.conversations.state(
    {
      sessionId,
      access: guard.sessionAccess(request),
      userState,
      waitMs,
      signal: abortOnDisconnect(reply.raw, waitMs),
      seen: request.sessionSeen,
      admitChange: userState === null ? null : admission.change(request, sessionId),
    },
    admission.newSession(request),
  );
  const exchange = { request, reply, route: STATE_ROUTE, waitMs };
  const send = (view: SnapshotView): void => answers.taggedSnapshot(exchange, view);
  if (!(found instanceof Promise)) return send(found);
  if (request.startedAt === UNTIMED) log.started(request);
  if (waitMs === 0) return found.then(send);
  return found.then(async (view) => {
    await guard.authorizeAgain(request, sessionId);
    send(view);
  });
}

import type { FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import type { SnapshotView } from "@colloquy/engine/internal/core/ports/driving/services";
import { Snapshot } from "../documented.ts";
import { preferredWait, textHeader, abortOnDisconnect } from "../request.ts";
import {
  ClientId,
  HEADERS,
  optional,
  rangeOf,
  refusals,
  SNAPSHOT_QUERY,
  UserStateText,
} from "../operation.ts";
import { UNTIMED } from "../edge.ts";
import type { HttpApp, RouteParts } from "./route-parts.ts";

export const STATE_ROUTE = "/api/state";

const Before = z.uuid("must be the id of a message").toLowerCase().meta({
  description:
    "Id of a message: the snapshot contains the N messages directly before it. Requires `messages`",
});

const StateQuery = z
  .object({
    user_state: optional(UserStateText),
    client_id: optional(ClientId),
    ...SNAPSHOT_QUERY,
    before: optional(Before),
  })
  .refine(({ before, messages }) => before === undefined || messages !== undefined, {
    path: ["messages"],
    message: 'must be "last:N" where "before" is sent',
  });

/**
 * The hot path: responds with the bytes of a session in memory, without a promise and without reading the
 * clock.
 */
export function stateRoute(app: HttpApp, parts: RouteParts): void {
  app.get(
    STATE_ROUTE,
    {
      config: {
        access: { session: "header", app: "session", scope: "read", creates: true },
      },
      schema: {
        operationId: "getState",
        summary: "Get the snapshot of a session",
        description:
          "Creates the session if it does not exist, unless it was deleted in the last ten minutes.",
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
          304: z.undefined().meta({ description: "The snapshot has not changed" }),
          ...refusals(401, 404, 429, 503, 507),
        },
      },
    },
    (request, reply) => answer(parts, request, reply),
  );
}

function answer(
  { services, answers, admission, log }: RouteParts,
  request: FastifyRequest,
  reply: FastifyReply,
): void | Promise<void> {
  const { caller } = request;
  const waitMs = preferredWait(textHeader(request.raw, "prefer"));
  const access = caller.found();
  const query = request.query as z.output<typeof StateQuery>;
  const { user_state: userState = null, client_id: clientId } = query;
  caller.clientOf(caller.app, clientId ?? null);
  const found = services.conversations.state(
    {
      sessionId: caller.sessionId,
      access,
      messages: rangeOf(query.messages, query.before),
      userState,
      waitMs,
      signal: abortOnDisconnect(reply.raw, waitMs),
      version: caller.version,
      admitChange: userState === null ? null : admission.change(request, caller.sessionId),
    },
    admission.newSession(request),
  );
  const exchange = { request, reply, route: STATE_ROUTE, waitMs };
  const send = (view: SnapshotView): void => answers.taggedSnapshot(exchange, view);
  if (!(found instanceof Promise)) return send(found);
  if (request.startedAt === UNTIMED) log.started(request);
  if (waitMs === 0) return found.then(send);
  return found.then(async (view) => {
    await caller.authorizeAgain();
    send(view);
  });
}

import { z } from "zod";
import type { SnapshotView } from "../../core/ports/services.ts";
import { untilGone } from "../client-gone.ts";
import { Snapshot } from "../documented.ts";
import { requiredSessionId, textHeader } from "../headers.ts";
import { HEADERS, refusals } from "../operation.ts";
import { ClientId, UserStateText } from "../parameters.ts";
import { preferredWait } from "../prefer.ts";
import type { HttpApp, RouteParts } from "./route-parts.ts";

export const STATE_ROUTE = "/api/state";

const StateQuery = z.object({ user_state: UserStateText.optional(), client_id: ClientId.optional() });

/** The hot path: a session in memory is answered from bytes, without a promise and without a look at the clock. */
export function stateRoute(app: HttpApp, { services, answers, admission, log }: RouteParts): void {
  app.get(
    STATE_ROUTE,
    {
      schema: {
        operationId: "getState",
        summary: "Get the snapshot of a session",
        description: "Creates the session when there is none.",
        tags: ["Conversation"],
        headers: z.object({ ...HEADERS.session, ...HEADERS.ifNoneMatch, ...HEADERS.prefer }),
        querystring: StateQuery,
        response: {
          200: Snapshot,
          304: z.undefined().meta({ description: "The client has this snapshot already" }),
          ...refusals(429, 503, 507),
        },
      },
    },
    (request, reply) => {
      const sessionId = requiredSessionId(request.raw);
      const waitMs = preferredWait(textHeader(request.raw, "prefer"));
      const answer = services.conversations.state(
        {
          sessionId,
          userState: request.query.user_state ?? null,
          waitMs,
          signal: untilGone(reply.raw, waitMs),
        },
        admission.newSession(request),
      );
      const exchange = { request, reply, route: STATE_ROUTE, waitMs };
      const send = (view: SnapshotView): void => answers.taggedSnapshot(exchange, view);
      if (!(answer instanceof Promise)) return send(answer);
      log.started(request);
      return answer.then(send);
    },
  );
}

import { Json } from "@colloquy/protocol";
import { z } from "zod";
import { actorOf } from "../actors.ts";
import { Action } from "../documented.ts";
import { requiredSessionId } from "../request.ts";
import { HEADERS, refusals } from "../operation.ts";
import type { HttpApp, RouteParts } from "./route-parts.ts";

const TAGS = ["Actions"];

/** Accepted in any case, like session ids. */
export const ActionId = z
  .string()
  .toLowerCase()
  .meta({ description: "Id of the action, from `pending_actions`", format: "uuid" });
const ActionPath = z.object({ id: ActionId });

export const DecisionBody = z
  .object({
    decision: z.enum(["approve", "deny"], 'must be "approve" or "deny"'),
    result: Json.nullish().meta({
      description:
        'What comes with an approval, by the kind of the action: nothing for an `approval`, `{"transaction_hash"}`, `{"signature"}` or ' +
        '`{"answer"}` for the others. A denial carries nothing.',
    }),
  })
  .meta({ examples: [{ decision: "approve" }] });

export function actionRoutes(app: HttpApp, { services, admission, access }: RouteParts): void {
  app.get(
    "/api/actions",
    {
      schema: {
        operationId: "listActions",
        summary: "List what a person is asked",
        description:
          "The actions of the session that are pending, and the last 100 that were decided, oldest first.",
        tags: TAGS,
        headers: z.object({ ...HEADERS.session, ...HEADERS.sessionKey }),
        response: {
          200: z.array(Action).meta({ description: "The actions" }),
          ...refusals(401, 404, 429, 503, 507),
        },
      },
      ...access.sessionHooks("read"),
    },
    async (request, reply) => {
      const sessionId = requiredSessionId(request.raw);
      access.authorizeFoundSession(request);
      const allowed = access.sessionAccess(request);
      return reply.send([
        ...(await services.actions.list(sessionId, allowed, admission.newSession(request))),
      ]);
    },
  );

  app.post(
    "/api/actions/:id",
    {
      schema: {
        operationId: "decideAction",
        summary: "Approve or deny",
        description:
          "Decides once: the same decision again answers the same, another one is refused. The assistant goes on when nothing is left to decide. " +
          "In a session of another App than `default` this needs the App's key, whatever the App asks for elsewhere.",
        tags: TAGS,
        headers: z.object({ ...HEADERS.session, ...HEADERS.sessionKey }),
        params: ActionPath,
        body: DecisionBody,
        response: { 200: Action, ...refusals(401, 403, 404, 409, 410, 413, 415, 429, 503, 507) },
      },
      ...access.decisionHooks("chat"),
    },
    (request) => {
      const sessionId = requiredSessionId(request.raw);
      const { decision, result } = request.body;
      const answer = { decision, result: result ?? null };
      return access.runAuthorized(request, sessionId, async (allowed) => {
        const by = await actorOf(request, services.audit);
        return await services.actions.decide(sessionId, request.params.id, answer, allowed, by);
      });
    },
  );
}

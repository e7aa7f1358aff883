import { Json } from "@colloquy/protocol";
import { z } from "zod";
import { actorOf } from "../actors.ts";
import { Action, ActionClaim } from "../documented.ts";
import { DECISION_BODY_MAX_BYTES } from "../problem.ts";
import { idempotencyKey, requiredSessionId } from "../request.ts";
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
        'What comes with an approval, by the kind of the action: nothing for an `approval`; `{"transaction_hash"}`, `{"signature"}` or ' +
        '`{"answer"}`; for a `client_tool` `{"output"}` with any JSON, or `{"error"}` with a sentence. Of an output, 64 KiB are kept. A denial ' +
        "carries nothing.",
    }),
    claim: z.string("must be a string").nullish().meta({
      description:
        "The claim of a `client_tool`, from `POST /api/actions/{id}/claim`. An approval needs it, and a denial while it is live",
    }),
  })
  .meta({ examples: [{ decision: "approve" }] });

const ClaimBody = z
  .object({
    claim: z
      .string("must be a string")
      .nullish()
      .meta({ description: "The claim to renew; absent for a new one" }),
  })
  .nullish()
  .meta({ description: "May be absent." });

export function actionRoutes(app: HttpApp, { services, admission, guard }: RouteParts): void {
  app.get(
    "/api/actions",
    {
      schema: {
        operationId: "listActions",
        summary: "List the actions of a session",
        description:
          "The actions of the session that are pending, and the last 100 that were decided, oldest first.",
        tags: TAGS,
        headers: z.object({ ...HEADERS.session, ...HEADERS.sessionKey }),
        response: {
          200: z.array(Action).meta({ description: "The actions" }),
          ...refusals(401, 404, 429, 503, 507),
        },
      },
      ...guard.sessionHooks("read"),
    },
    async (request, reply) => {
      const sessionId = requiredSessionId(request.raw);
      guard.authorizeFoundSession(request);
      const allowed = guard.sessionAccess(request);
      return reply.send([
        ...(await services.actions.list(sessionId, allowed, admission.newSession(request))),
      ]);
    },
  );

  app.post(
    "/api/actions/:id",
    {
      bodyLimit: DECISION_BODY_MAX_BYTES,
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
      ...guard.decisionHooks("chat"),
    },
    (request) => {
      const sessionId = requiredSessionId(request.raw);
      const { decision, result, claim } = request.body;
      const answer = { decision, result: result ?? null, ...(typeof claim === "string" && { claim }) };
      return guard.runAuthorized(request, sessionId, async (allowed) => {
        const by = await actorOf(request, services.audit);
        return await services.actions.decide(sessionId, request.params.id, answer, allowed, by);
      });
    },
  );

  claimRoute(app, { services, guard });
}

function claimRoute(app: HttpApp, { services, guard }: Pick<RouteParts, "services" | "guard">): void {
  app.post(
    "/api/actions/:id/claim",
    {
      schema: {
        operationId: "claimAction",
        summary: "Claim a call to run it",
        description:
          "Lets one client run the call of a `client_tool`. The claim lasts 30 seconds, and sending it renews it; while it is live, another claim " +
          "is 409. Send an `Idempotency-Key` that no other client uses: a retry with it returns the same claim. A claim that lapses gives the call the result `outcome unknown`, unless the tool is repeatable: then another client may " +
          "claim it. Like a decision, this needs the App's key in a session of another App than `default`.",
        tags: TAGS,
        headers: z.object({ ...HEADERS.session, ...HEADERS.sessionKey, ...HEADERS.claimKey }),
        params: ActionPath,
        body: ClaimBody,
        response: { 200: ActionClaim, ...refusals(401, 403, 404, 409, 410, 413, 415, 429, 503, 507) },
      },
      ...guard.decisionHooks("chat"),
    },
    (request) => {
      const sessionId = requiredSessionId(request.raw);
      const claim = { renews: request.body?.claim ?? null, idempotencyKey: idempotencyKey(request.raw) };
      return guard.runAuthorized(request, sessionId, (allowed) =>
        services.actions.claim(sessionId, request.params.id, claim, allowed),
      );
    },
  );
}

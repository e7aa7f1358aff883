import { Json } from "@colloquy/protocol";
import { z } from "zod";
import { actor, actorOf } from "../actors.ts";
import { Action, ActionClaim, ApproverAction } from "../documented.ts";
import { DECISION_BODY_MAX_BYTES, DECISION_COMMENT_MAX } from "../problem.ts";
import { idempotencyKey } from "../request.ts";
import { AppName, HEADERS, limitUpTo, optional, refusals } from "../operation.ts";
import { nextLink } from "./send-array.ts";
import type { HttpApp, RouteParts } from "./route-parts.ts";

const TAGS = ["Actions"];
const [PAGE, PAGE_MAX] = [20, 50];

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
        '`{"answer"}`; for a `client_tool` `{"output"}` with any JSON, or `{"error"}` with a sentence. Of an output, 64 KiB are kept. ' +
        '`{"output", "attachments"}` also has files: the ids of at most ten, from `POST /api/files` with the same session. A denial carries nothing.',
      examples: [{ output: "a screenshot", attachments: ["5d1f8f2e-0a53-4c0e-9b1a-7f0c2d8e6a41"] }],
    }),
    claim: z.string("must be a string").nullish().meta({
      description:
        "The claim of a `client_tool`, from `POST /api/actions/{id}/claim`. An approval needs it, and a denial while it is live",
    }),
    comment: z
      .string("must be a string")
      .max(DECISION_COMMENT_MAX, `must be at most ${DECISION_COMMENT_MAX.toLocaleString("en")} characters`)
      .nullish()
      .meta({
        description: "Shown to the user of the conversation. The model also receives the comment on a denial",
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

const ListQuery = z.object({
  status: optional(z.literal("pending", 'must be "pending"').meta({ description: "Only pending actions" })),
  app: optional(AppName).meta({ description: "For approvers: only the actions of this App" }),
  limit: optional(limitUpTo(PAGE_MAX, `For approvers: maximum actions per page; ${PAGE} by default`)),
  cursor: optional(
    z.string().meta({
      description: "For approvers: start of the page, from the `Link` header of the previous page",
    }),
  ),
});

/** Decisions need the key of the session's App. */
const CLAIMING = {
  access: { session: "header", app: "session", scope: "chat", needsKey: true, inTransaction: true },
} as const;
const DECIDING = { access: { ...CLAIMING.access, approves: true } } as const;

export function actionRoutes(app: HttpApp, { services, admission }: RouteParts): void {
  app.get(
    "/api/actions",
    {
      config: {
        access: { session: "header", app: "session", scope: "read", creates: true, approves: true },
      },
      schema: {
        operationId: "listActions",
        summary: "List actions",
        description:
          "The pending actions of the session, and the last 100 that were decided, oldest first. " +
          "With an approver's token and without `X-Session-Id`: all pending actions that the approver may decide, " +
          'oldest first, in pages; `Link` with `rel="next"` names the next one.',
        tags: TAGS,
        headers: z.object({ ...HEADERS.sessionUnlessApprover, ...HEADERS.sessionKey }),
        querystring: ListQuery,
        response: {
          200: z.union([z.array(Action), z.array(ApproverAction)]).meta({ description: "Actions" }),
          ...refusals(401, 403, 404, 429, 503, 507),
        },
      },
    },
    async (request, reply) => {
      const { caller } = request;
      const { status, app: name, limit = PAGE, cursor = null } = request.query;
      if (caller.isForOthers) {
        const page = await services.actions.forApprover(caller.approver(name ?? null), { cursor, limit });
        if (page.next !== null) {
          const more = { ...(name !== undefined && { app: name }), limit: String(limit), cursor: page.next };
          reply.header("link", nextLink({ status: "pending", ...more }));
        }
        return reply.send([...page.actions]);
      }
      const actions = await services.actions.list(
        caller.sessionId,
        caller.found(),
        admission.newSession(request),
      );
      return reply.send(actions.filter((action) => status === undefined || action.status === status));
    },
  );

  app.post(
    "/api/actions/:id",
    {
      config: DECIDING,
      bodyLimit: DECISION_BODY_MAX_BYTES,
      schema: {
        operationId: "decideAction",
        summary: "Approve or deny",
        description:
          "Decides once: the same decision again answers the same, another one is refused. The assistant goes on when nothing is left to decide. " +
          "In a session of another App than `default` this needs the App's key, whatever the App asks for elsewhere. " +
          "An approver sends a token without `X-Session-Id`, and receives the action without other data of the conversation.",
        tags: TAGS,
        headers: z.object({ ...HEADERS.sessionUnlessApprover, ...HEADERS.sessionKey }),
        params: ActionPath,
        body: DecisionBody,
        response: {
          200: z.union([Action, ApproverAction]),
          ...refusals(401, 403, 404, 409, 410, 413, 415, 429, 503, 507),
        },
      },
    },
    async (request) => {
      const { caller } = request;
      const { decision, result, claim, comment } = request.body;
      const answer = {
        decision,
        result: result ?? null,
        comment: comment?.trim() || null,
        ...(typeof claim === "string" && { claim }),
      };
      if (caller.isForOthers) {
        const approver = caller.approver();
        const by = actor(request, { kind: "user", id: await services.audit.subjectOf(approver.owner) });
        return await services.actions.decideAsApprover(request.params.id, answer, approver, by);
      }
      return caller.run(async (access) => {
        const by = await actorOf(request, services.audit);
        return await services.actions.decide(caller.sessionId, request.params.id, answer, access, by);
      });
    },
  );

  claimRoute(app, { services });
}

function claimRoute(app: HttpApp, { services }: Pick<RouteParts, "services">): void {
  app.post(
    "/api/actions/:id/claim",
    {
      config: CLAIMING,
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
    },
    (request) => {
      const { caller } = request;
      const claim = { renews: request.body?.claim ?? null, idempotencyKey: idempotencyKey(request.raw) };
      return caller.run((access) =>
        services.actions.claim(caller.sessionId, request.params.id, claim, access),
      );
    },
  );
}

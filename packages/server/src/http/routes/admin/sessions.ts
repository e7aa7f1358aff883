import { AdminSessionStatus, SessionIdOrHandle } from "@colloquy/protocol";
import { z } from "zod";
import {
  Action,
  AdminMessage,
  AdminSession,
  AdminSessionDetail,
  AdminSessionPage,
  DeletedThread,
  Thread,
} from "../../documented.ts";
import { operatorOf, readerOf } from "../../actors.ts";
import { AppName, IdPath, limitUpTo, refusals } from "../../operation.ts";
import { ActionId, DecisionBody } from "../actions.ts";
import { type HttpApp, ADMIN, type AdminParts, OPERATOR } from "../route-parts.ts";
import { sendRecords } from "../send-array.ts";

const PAGE_MAX = 200;
const PAGE = 50;
const MESSAGES_MAX = 1000;
const SEARCH_MAX = 200;

const SessionsQuery = z.object({
  status: z
    .enum(AdminSessionStatus.options, `must be one of ${AdminSessionStatus.options.join(", ")}`)
    .optional(),
  app: AppName.optional().meta({ description: "Sessions of this App alone" }),
  search: z
    .string("must be a string")
    .min(1, "must not be empty")
    .max(SEARCH_MAX, `must be at most ${SEARCH_MAX} characters`)
    .optional()
    .meta({ description: "Text in the title, in any case; or a whole session id, handle or wallet address" }),
  limit: limitUpTo(PAGE_MAX, `Sessions in a page; ${PAGE} when absent`).optional(),
  cursor: z.string().optional().meta({ description: "`next_cursor` of the previous page" }),
});

const SessionPath = z.object({ id: SessionIdOrHandle });

const TurnsQuery = z.object({
  before: limitUpTo(999_999_999, "Number of the turn that those of the answer come before").optional(),
  limit: limitUpTo(PAGE_MAX, `Turns in the answer; ${PAGE} when absent`).optional(),
});

const MessagesQuery = z.object({
  after: z
    .uuid("must be the id of a message")
    .optional()
    .meta({ description: "Id of the message before the first" }),
  limit: limitUpTo(MESSAGES_MAX, "Messages in the answer; 1,000 when absent").optional(),
});

export function adminSessionRoutes(app: HttpApp, parts: AdminParts): void {
  list(app, parts);
  look(app, parts);
  change(app, parts);
  decide(app, parts);
}

function list(app: HttpApp, { service }: AdminParts): void {
  app.get(
    "/api/admin/sessions",
    {
      config: OPERATOR,
      schema: {
        operationId: "adminListSessions",
        summary: "Look for sessions",
        description:
          "Newest use first. With `status` (but `failed` and `idle`), those with an open turn are looked at, 10,000 at most; else all, " +
          "and where there is a filter 5,000 at most for a page: it may then be short, or empty, and yet have a `next_cursor`.",
        ...ADMIN,
        querystring: SessionsQuery,
        response: { 200: AdminSessionPage, ...refusals(401, 403, 429, 503) },
      },
    },
    (request) => {
      const { status = null, app: name = null, search = null, limit = PAGE, cursor = null } = request.query;
      return service.sessions({ status, app: name, search, limit, cursor }, readerOf(request));
    },
  );
}

function look(app: HttpApp, { service }: AdminParts): void {
  app.get(
    "/api/admin/sessions/:id",
    {
      config: OPERATOR,
      schema: {
        operationId: "adminGetSession",
        summary: "Get a session with its turns",
        ...ADMIN,
        params: SessionPath,
        querystring: TurnsQuery,
        response: { 200: AdminSessionDetail, ...refusals(401, 403, 404, 429, 503) },
      },
    },
    (request) => {
      const { before = null, limit = PAGE } = request.query;
      return service.session(request.params.id, { before, limit }, readerOf(request));
    },
  );

  app.get(
    "/api/admin/sessions/:id/messages",
    {
      config: OPERATOR,
      schema: {
        operationId: "adminListMessages",
        summary: "List the persisted messages of a session",
        description: "In the order of arrival, of a session of whatever App.",
        ...ADMIN,
        params: SessionPath,
        querystring: MessagesQuery,
        response: {
          200: z.array(AdminMessage).meta({ description: "Messages" }),
          ...refusals(401, 403, 404, 429, 503),
        },
      },
    },
    async (request, reply) => {
      const { id } = request.params;
      const { after = null, limit = MESSAGES_MAX } = request.query;
      const page = await service.messages(id, after, limit, readerOf(request));
      return await sendRecords(reply, { limit: String(limit) }, page);
    },
  );
}

const userText = z
  .string("must be a string")
  .min(1, "must not be empty")
  .max(1024, "must be at most 1,024 characters");

const OwnerBody = z
  .object({
    user: z
      .object({ issuer: userText, subject: userText }, "must be an issuer and a subject, or null")
      .nullable()
      .meta({ description: "The new owner as their tokens name them (`iss`, `sub`); null for nobody" }),
  })
  .meta({ examples: [{ user: { issuer: "https://login.example.com", subject: "alice" } }] });

function change(app: HttpApp, { service }: AdminParts): void {
  app.post(
    "/api/admin/sessions/:id/interrupt",
    {
      config: OPERATOR,
      schema: {
        operationId: "adminInterrupt",
        summary: "Interrupt a session",
        description: "Stops its turn and what is queued behind it; the same for one that is idle.",
        ...ADMIN,
        params: IdPath,
        response: { 200: AdminSession, ...refusals(401, 403, 404, 413, 429, 503, 507) },
      },
    },
    (request) => service.interrupt(request.params.id),
  );

  app.put(
    "/api/admin/sessions/:id/owner",
    {
      config: OPERATOR,
      schema: {
        operationId: "adminTransferSession",
        summary: "Give a session to another user, or to nobody",
        description: "Event streams of others end.",
        ...ADMIN,
        params: IdPath,
        body: OwnerBody,
        response: { 200: Thread, ...refusals(401, 403, 404, 413, 415, 429, 503, 507) },
      },
    },
    (request) => service.transfer(request.params.id, request.body.user, operatorOf(request)),
  );

  app.delete(
    "/api/admin/sessions/:id",
    {
      config: OPERATOR,
      schema: {
        operationId: "adminDeleteSession",
        summary: "Delete a session and its messages",
        description: "Stops a running turn and ends open event streams.",
        ...ADMIN,
        params: IdPath,
        response: { 200: DeletedThread, ...refusals(401, 403, 404, 429, 503, 507) },
      },
    },
    async (request) => {
      const removed = await service.remove(request.params.id, operatorOf(request));
      return { session_id: removed, deleted: true as const };
    },
  );
}

function decide(app: HttpApp, { service }: AdminParts): void {
  app.post(
    "/api/admin/sessions/:id/actions/:action",
    {
      config: OPERATOR,
      schema: {
        operationId: "adminDecideAction",
        summary: "Decide an action on behalf of the user",
        description: "As `POST /api/actions/{id}`. The audit trail names the operator.",
        ...ADMIN,
        params: IdPath.extend({ action: ActionId }),
        body: DecisionBody.omit({ claim: true }),
        response: { 200: Action, ...refusals(401, 403, 404, 409, 410, 413, 415, 429, 503, 507) },
      },
    },
    (request) => {
      const { id, action } = request.params;
      const { decision, result } = request.body;
      return service.decide(id, action, { decision, result: result ?? null }, operatorOf(request));
    },
  );
}

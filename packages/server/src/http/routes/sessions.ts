import { parseSessionId } from "@colloquy/protocol";
import { z } from "zod";
import { actorOf } from "../actors.ts";
import { DeletedThread, PersistedMessage, Thread } from "../documented.ts";
import { InvalidRequest } from "../../core/errors.ts";
import { claimForbidden } from "../key-refusals.ts";
import { requiredSessionId } from "../request.ts";
import { EXAMPLE_WALLET, HEADERS, IdPath, limitUpTo, optional, PublicKey, refusals } from "../operation.ts";
import type { HttpApp, RouteParts } from "./route-parts.ts";
import { nextLink, sendArray, sendRecords } from "./send-array.ts";

const TAGS = ["Sessions"];
const [PAGE_MAX, MESSAGES_MAX] = [200, 1000];

const CreateBody = z
  .object({ public_key: optional(PublicKey.nullable()) })
  .nullish()
  .meta({ description: "May be absent", example: { public_key: EXAMPLE_WALLET } });

const ListQuery = z.object({
  public_key: PublicKey.optional(),
  limit: optional(limitUpTo(PAGE_MAX, "Threads in a page; without it all")),
  cursor: optional(
    z.string().meta({ description: "Where the page begins, from the `Link` header of the one before" }),
  ),
});

const MessagesQuery = z.object({
  after: optional(
    z.uuid("must be the id of a message").meta({ description: "Id of the message before the first" }),
  ),
  limit: optional(limitUpTo(MESSAGES_MAX, "Messages in the answer at most; 1,000 when absent")),
  include: optional(
    z
      .literal("reasoning", 'must be "reasoning"')
      .meta({ description: "Shows the model's reasoning as well" }),
  ),
});

/**
 * Matches a visible character: not a control or format character, white space, a mark, default-ignorable, or
 * blank Braille.
 */
const VISIBLE = /[^\p{Cc}\p{Cf}\p{Z}\p{M}\p{Default_Ignorable_Code_Point}\u2800]/u;

const RenameBody = z
  .object({
    title: z
      .string("must be a string")
      .trim()
      .min(1, "must not be blank")
      .max(200, "must be at most 200 characters")
      .refine((title) => VISIBLE.test(title), "must hold a character that can be seen")
      .meta({
        description: "The new title; never overwritten by a generated one",
      }),
  })
  .meta({ examples: [{ title: "Bridging to Arbitrum" }] });

const ForkBody = z
  .object({
    session_id: z
      .string("must be the UUID that you chose for the copy")
      .refine(
        (id) => parseSessionId(id) !== null,
        "must be a UUID (8-4-4-4-12 hexadecimal digits, not the nil or max UUID)",
      )
      .meta({ description: "Id of the copy: a new UUID, or that of an empty session", format: "uuid" }),
    through_message_id: optional(
      z.uuid("must be the id of a message").toLowerCase().nullable().meta({
        description: "Id of the message with whose turn the copy ends; the last finished turn when absent",
      }),
    ),
  })
  // The generator omits `examples` of transformed values, such as lower-cased ids.
  .meta({ example: { session_id: "0b9f6f0e-6c1d-4b57-9a53-0f6c1c7d2a11" } });

export function sessionRoutes(app: HttpApp, parts: RouteParts): void {
  createSession(app, parts);
  listThreads(app, parts);
  getAndMessages(app, parts);
  renameAndDelete(app, parts);
  pinAndUnpin(app, parts);
  forkThread(app, parts);
  claimThread(app, parts);
}

function createSession(app: HttpApp, { services, admission, guard }: RouteParts): void {
  const { threads } = services;
  app.post(
    "/api/sessions",
    {
      schema: {
        operationId: "createSession",
        summary: "Create a session",
        description: "Answers the same for a session that exists. Binds the wallet when none was bound.",
        tags: TAGS,
        headers: z.object({ ...HEADERS.session, ...HEADERS.sessionKey }),
        body: CreateBody,
        response: { 200: Thread, ...refusals(401, 404, 409, 413, 415, 429, 503, 507) },
      },
      ...guard.sessionCommandHooks("chat"),
    },
    (request) => {
      const sessionId = requiredSessionId(request.raw);
      const publicKey = request.body?.public_key ?? null;
      return guard.runAuthorized(request, sessionId, (allowed) =>
        threads.create(sessionId, publicKey, allowed, admission.newSession(request)),
      );
    },
  );
}

function listThreads(app: HttpApp, { services, admission, guard }: RouteParts): void {
  const { conversations, threads } = services;
  app.get(
    "/api/sessions",
    {
      schema: {
        operationId: "listThreads",
        summary: "List the threads of a wallet or of the user",
        description:
          "Pinned threads first, then newest activity first: those of the default App, and of the Apps that the sent key opens. " +
          "With a user's token and without `public_key`: the user's threads in the Apps that accept the token. " +
          '`Link` with `rel="next"` names the next page.',
        tags: TAGS,
        headers: z.object({ ...HEADERS.session, ...HEADERS.listKey }),
        querystring: ListQuery,
        response: {
          200: z.array(Thread).meta({ description: "The threads" }),
          ...refusals(401, 404, 429, 503, 507),
        },
      },
      ...guard.listHooks("read"),
    },
    async (request, reply) => {
      const sessionId = requiredSessionId(request.raw);
      const { public_key: publicKey, limit, cursor } = request.query;
      const allowed = guard.listAccess(request, publicKey ?? null);
      if (publicKey === undefined && allowed.user === null) throw walletMissing();
      const query = { publicKey: publicKey ?? null, access: allowed, cursor: cursor ?? null };
      // List first, so that a rejected request creates nothing.
      if (limit === undefined) {
        const all = await threads.listAll(query);
        await conversations.ensure(sessionId, guard.sessionAccess(request), admission.newSession(request));
        return await sendArray(reply, all);
      }
      const page = await threads.list({ ...query, limit });
      await conversations.ensure(sessionId, guard.sessionAccess(request), admission.newSession(request));
      if (page.next !== null) {
        const ofWallet = publicKey === undefined ? {} : { public_key: publicKey };
        const next = { ...ofWallet, limit: String(limit), cursor: page.next };
        reply.header("link", nextLink(next));
      }
      return reply.send([...page.threads]);
    },
  );
}

function walletMissing(): InvalidRequest {
  const detail =
    'The query parameter "public_key" is missing: it must be a wallet address, unless a signed-in user lists their own threads.';
  return new InvalidRequest("parameter_missing", detail);
}

function getAndMessages(app: HttpApp, { services, guard }: RouteParts): void {
  const { threads } = services;
  app.get(
    "/api/sessions/:id",
    {
      schema: {
        operationId: "getSession",
        summary: "Get a session",
        tags: TAGS,
        params: IdPath,
        headers: z.object(HEADERS.sessionKey),
        response: { 200: Thread, ...refusals(401, 404, 429, 503) },
      },
      ...guard.pathCommandHooks("read"),
    },
    (request) => {
      const { id } = request.params;
      return guard.runAuthorized(request, id, (allowed) => threads.get(id, allowed));
    },
  );

  app.get(
    "/api/sessions/:id/messages",
    {
      schema: {
        operationId: "listMessages",
        summary: "List the persisted messages of a session",
        description:
          "In the order of arrival. A page ends after `limit` records, or with the one that brings it to 1 MiB, not counting reasoning; " +
          '`Link` with `rel="next"` names the next one.',
        tags: TAGS,
        params: IdPath,
        headers: z.object(HEADERS.sessionKey),
        querystring: MessagesQuery,
        response: {
          200: z.array(PersistedMessage).meta({ description: "The messages" }),
          ...refusals(401, 404, 429, 503),
        },
      },
      ...guard.pathCommandHooks("read"),
    },
    async (request, reply) => {
      const { id } = request.params;
      const { after = null, limit = MESSAGES_MAX, include } = request.query;
      const page = await guard.runAuthorized(request, id, (allowed) =>
        threads.messages(id, after, limit, allowed, include !== undefined),
      );
      const query = { limit: String(limit), ...(include && { include }) };
      return await sendRecords(reply, query, page);
    },
  );
}

function renameAndDelete(app: HttpApp, { services, guard }: RouteParts): void {
  const { threads } = services;
  app.patch(
    "/api/sessions/:id",
    {
      schema: {
        operationId: "renameThread",
        summary: "Rename a thread",
        tags: TAGS,
        params: IdPath,
        headers: z.object(HEADERS.sessionKey),
        body: RenameBody,
        response: { 200: Thread, ...refusals(401, 404, 413, 415, 429, 503, 507) },
      },
      ...guard.pathCommandHooks("chat"),
    },
    (request) => {
      const { id } = request.params;
      const { title } = request.body;
      return guard.runAuthorized(request, id, (allowed) => threads.rename(id, title, allowed));
    },
  );

  app.delete(
    "/api/sessions/:id",
    {
      schema: {
        operationId: "deleteThread",
        summary: "Delete a thread and its messages",
        description: "Stops a running turn and ends open event streams.",
        tags: TAGS,
        params: IdPath,
        headers: z.object(HEADERS.sessionKey),
        response: { 200: DeletedThread, ...refusals(401, 404, 413, 429, 503, 507) },
      },
      ...guard.pathCommandHooks("chat"),
    },
    async (request) => {
      const { id } = request.params;
      const spelling = await guard.runAuthorized(request, id, (allowed) => threads.remove(id, allowed));
      return { session_id: spelling, deleted: true as const };
    },
  );
}

function forkThread(app: HttpApp, { services, admission, guard }: RouteParts): void {
  app.post(
    "/api/sessions/:id/fork",
    {
      schema: {
        operationId: "forkThread",
        summary: "Copy a thread",
        description:
          "Copies the finished turns, through that of a message, into a new or empty session, with the App, model, title, owner, wallet and " +
          "user state. Messages keep their time and get new ids. Secrets and pending actions are not copied, and the thread is unchanged.",
        tags: TAGS,
        params: IdPath,
        headers: z.object(HEADERS.sessionKey),
        body: ForkBody,
        response: { 200: Thread, ...refusals(401, 404, 409, 413, 415, 429, 503, 507) },
      },
      ...guard.pathKeyHooks("chat"),
    },
    (request) => {
      const { id } = request.params;
      const { session_id: spelling, through_message_id: through = null } = request.body;
      const creation = admission.newSession(request, { spelling });
      const admit = admission.copy(request, id);
      return guard.runAuthorized(request, id, (allowed) =>
        services.threads.fork(id, { session: spelling.toLowerCase(), through, admit }, allowed, creation),
      );
    },
  );
}

function claimThread(app: HttpApp, { services, guard }: RouteParts): void {
  app.post(
    "/api/sessions/:id/claim",
    {
      schema: {
        operationId: "claimThread",
        summary: "Claim a thread for the signed-in user",
        description:
          "For a thread that has no owner and is idle, in an App that permits it (`users.claimSessions`). From then on only the user can " +
          "use it, and event streams of others end. Claiming one's own thread changes nothing.",
        tags: TAGS,
        security: [{ userToken: [] }],
        params: IdPath,
        response: { 200: Thread, ...refusals(401, 404, 409, 413, 429, 503, 507) },
      },
      ...guard.pathCommandHooks("chat"),
    },
    (request) => {
      const { id } = request.params;
      return guard.runAuthorized(request, id, async (allowed) => {
        const claimant = guard.claimant(request);
        if (claimant === null) {
          // Answer 404 for a hidden session, so that its existence is not revealed.
          await services.threads.get(id, allowed);
          throw claimForbidden();
        }
        return await services.threads.claim(id, claimant, allowed, await actorOf(request, services.audit));
      });
    },
  );
}

function pinAndUnpin(app: HttpApp, { services, guard }: RouteParts): void {
  const { threads } = services;
  const route = (method: "put" | "delete", pinned: boolean, operationId: string, summary: string) => {
    app[method](
      "/api/sessions/:id/pin",
      {
        schema: {
          operationId,
          summary,
          description: "Lists show pinned threads first. The same again changes nothing.",
          tags: TAGS,
          params: IdPath,
          headers: z.object(HEADERS.sessionKey),
          response: { 200: Thread, ...refusals(401, 404, 413, 429, 503, 507) },
        },
        ...guard.pathCommandHooks("chat"),
      },
      (request) => {
        const { id } = request.params;
        return guard.runAuthorized(request, id, (allowed) => threads.pin(id, pinned, allowed));
      },
    );
  };
  route("put", true, "pinThread", "Pin a thread");
  route("delete", false, "unpinThread", "Unpin a thread");
}

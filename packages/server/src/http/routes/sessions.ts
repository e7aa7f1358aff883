import { parseSessionId } from "@colloquy/protocol";
import { z } from "zod";
import { actorOf } from "../actors.ts";
import { DeletedThread, PersistedMessage, Thread } from "../documented.ts";
import { InvalidRequest } from "@colloquy/engine/internal/core/errors";
import { isJsonObject, type JsonObject } from "@colloquy/engine/internal/core/json";
import { claimForbidden } from "../access/refusals.ts";
import {
  EXAMPLE_WALLET,
  HEADERS,
  IdPath,
  limitUpTo,
  optional,
  PublicKey,
  refusals,
  Title,
} from "../operation.ts";
import type { HttpApp, RouteParts } from "./route-parts.ts";
import { nextLink, sendArray, sendRecords } from "./send-array.ts";

const TAGS = ["Sessions"];
const EXAMPLE_METADATA = { project: "bridge" };
const [PAGE_MAX, MESSAGES_MAX] = [200, 1000];
const READING = { access: { session: "path", app: "session", scope: "read", inTransaction: true } } as const;
const CHANGING = { access: { session: "path", app: "session", scope: "chat", inTransaction: true } } as const;

/** Passes the value through, because a copy by zod would lose a `__proto__` key. */
const MetadataObject = z
  .unknown()
  .refine((value): value is JsonObject => isJsonObject(value), "must be a JSON object");
const METADATA_SCHEMA = { type: "object", additionalProperties: true } as const;

const CreateBody = z
  .object({
    public_key: optional(PublicKey.nullable()),
    metadata: optional(
      MetadataObject.meta({
        description: "Metadata for a session that has none: a JSON object of at most 4 KiB, depth 16",
        ...METADATA_SCHEMA,
        examples: [EXAMPLE_METADATA],
      }),
    ),
  })
  .nullish()
  .meta({ description: "Optional", example: { public_key: EXAMPLE_WALLET } });

const METADATA_PREFIX = "metadata.";
const FILTERS_MAX = 8;

// Loose, because clients choose the names of metadata filters.
const ListQuery = z.looseObject({
  public_key: PublicKey.optional(),
  [`${METADATA_PREFIX}key`]: z.string("must be a string").optional().meta({
    description:
      "Only threads whose metadata has this text under the name after the dot, which stands here for any name; at most 8 of them",
  }),
  limit: optional(limitUpTo(PAGE_MAX, "Maximum threads of a page; all threads if absent")),
  archived: optional(
    z.enum(["true", "false"], 'must be "true" or "false"').meta({
      description: "Only archived threads, or only the others; both if absent",
    }),
  ),
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

const EditBody = z
  .object({
    title: Title.optional(),
    metadata: z
      .union([z.null(), MetadataObject])
      .meta({
        description:
          "Merge patch (RFC 7396) of the metadata: `null` removes a member, or all of it; at most 4 KiB merged, depth 16",
        anyOf: [METADATA_SCHEMA, { type: "null" }],
      })
      .optional(),
    is_archived: z
      .boolean("must be true or false")
      .meta({ description: "Archives the thread, or takes it out of the archive" })
      .optional(),
  })
  .refine((body) => Object.values(body).some((value) => value !== undefined), {
    message: "must be a string, unless the body has `metadata` or `is_archived`",
    path: ["title"],
  })
  .meta({
    anyOf: [{ required: ["title"] }, { required: ["metadata"] }, { required: ["is_archived"] }],
    examples: [{ title: "Bridging to Arbitrum", metadata: EXAMPLE_METADATA }],
  });

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
  archiveAndUnarchive(app, parts);
  forkThread(app, parts);
  claimThread(app, parts);
}

function createSession(app: HttpApp, { services, admission }: RouteParts): void {
  const { threads } = services;
  app.post(
    "/api/sessions",
    {
      config: {
        access: { session: "header", app: "session", scope: "chat", creates: true, inTransaction: true },
      },
      schema: {
        operationId: "createSession",
        summary: "Create a session",
        description:
          "Answers the same for a session that exists. Binds the wallet when none was bound, and sets the metadata when there is none.",
        tags: TAGS,
        headers: z.object({ ...HEADERS.session, ...HEADERS.sessionKey }),
        body: CreateBody,
        response: { 200: Thread, ...refusals(401, 404, 409, 413, 415, 429, 503, 507) },
      },
    },
    (request) => {
      const { caller } = request;
      const { public_key: publicKey = null, metadata } = request.body ?? {};
      return caller.run((access) =>
        threads.create(caller.sessionId, publicKey, access, admission.newSession(request), metadata),
      );
    },
  );
}

function listThreads(app: HttpApp, { services, admission }: RouteParts): void {
  const { conversations, threads } = services;
  app.get(
    "/api/sessions",
    {
      config: { access: { session: "header", app: "opened", scope: "read", creates: true } },
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
          200: z.array(Thread).meta({ description: "Threads" }),
          ...refusals(401, 404, 429, 503, 507),
        },
      },
    },
    async (request, reply) => {
      const { caller } = request;
      const { public_key: publicKey, archived, limit, cursor } = request.query;
      const access = caller.list(publicKey ?? null);
      if (publicKey === undefined && access.user === null) throw walletMissing();
      const metadata = metadataFilter(request.query);
      const filter = { metadata, archived: archived === undefined ? undefined : archived === "true" };
      const query = { publicKey: publicKey ?? null, access, cursor: cursor ?? null, ...filter };
      // List first, so that a rejected request creates nothing.
      if (limit === undefined) {
        const all = await threads.listAll(query);
        await conversations.ensure(caller.sessionId, caller.access(), admission.newSession(request));
        return await sendArray(reply, all);
      }
      const page = await threads.list({ ...query, limit });
      await conversations.ensure(caller.sessionId, caller.access(), admission.newSession(request));
      if (page.next !== null) {
        const ofWallet = publicKey === undefined ? {} : { public_key: publicKey };
        const filters = Object.entries(metadata ?? {}).map(([name, value]) => [
          METADATA_PREFIX + name,
          value,
        ]);
        const ofArchive = archived === undefined ? {} : { archived };
        const next = {
          ...ofWallet,
          ...ofArchive,
          ...Object.fromEntries(filters),
          limit: String(limit),
          cursor: page.next,
        };
        reply.header("link", nextLink(next));
      }
      return reply.send([...page.threads]);
    },
  );
}

/**
 * Returns the texts that the metadata of listed threads must have, by name; `undefined` for no filter. An empty
 * text counts as absent, as everywhere (contract section 6).
 */
function metadataFilter(query: Readonly<Record<string, unknown>>): Record<string, string> | undefined {
  const filters = Object.entries(query).flatMap(([name, value]): [string, unknown][] =>
    name.startsWith(METADATA_PREFIX) && value !== "" ? [[name.slice(METADATA_PREFIX.length), value]] : [],
  );
  const repeated = filters.find(([, value]) => typeof value !== "string");
  if (repeated !== undefined) {
    const detail = `The query parameter "${METADATA_PREFIX}${repeated[0]}" was sent more than once. Send it once.`;
    throw new InvalidRequest("parameter_repeated", detail);
  }
  if (filters.length > FILTERS_MAX) {
    const detail = `There are ${filters.length} query parameters for metadata. Send at most ${FILTERS_MAX}.`;
    throw new InvalidRequest("parameter_invalid", detail);
  }
  return filters.length === 0 ? undefined : (Object.fromEntries(filters) as Record<string, string>);
}

function walletMissing(): InvalidRequest {
  const detail =
    'The query parameter "public_key" is missing: it must be a wallet address, unless a signed-in user lists their own threads.';
  return new InvalidRequest("parameter_missing", detail);
}

function getAndMessages(app: HttpApp, { services }: RouteParts): void {
  const { threads } = services;
  app.get(
    "/api/sessions/:id",
    {
      config: READING,
      schema: {
        operationId: "getSession",
        summary: "Get a session",
        tags: TAGS,
        params: IdPath,
        headers: z.object(HEADERS.sessionKey),
        response: { 200: Thread, ...refusals(401, 404, 429, 503) },
      },
    },
    (request) => {
      const { id } = request.params;
      return request.caller.run((access) => threads.get(id, access));
    },
  );

  app.get(
    "/api/sessions/:id/messages",
    {
      config: READING,
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
          200: z.array(PersistedMessage).meta({ description: "Messages" }),
          ...refusals(401, 404, 429, 503),
        },
      },
    },
    async (request, reply) => {
      const { id } = request.params;
      const { after = null, limit = MESSAGES_MAX, include } = request.query;
      const page = await request.caller.run((access) =>
        threads.messages(id, after, limit, access, include !== undefined),
      );
      const query = { limit: String(limit), ...(include && { include }) };
      return await sendRecords(reply, query, page);
    },
  );
}

function renameAndDelete(app: HttpApp, { services }: RouteParts): void {
  const { threads } = services;
  app.patch(
    "/api/sessions/:id",
    {
      config: CHANGING,
      schema: {
        operationId: "renameThread",
        summary: "Rename or archive a thread, or change its metadata",
        description: "Changes everything or nothing. Only a new title counts as activity.",
        tags: TAGS,
        consumes: ["application/json", "application/merge-patch+json"],
        params: IdPath,
        headers: z.object(HEADERS.sessionKey),
        body: EditBody,
        response: { 200: Thread, ...refusals(401, 404, 413, 415, 429, 503, 507) },
      },
    },
    (request) => {
      const { id } = request.params;
      const { is_archived: archived, ...edit } = request.body;
      return request.caller.run((access) => threads.edit(id, { ...edit, archived }, access));
    },
  );

  app.delete(
    "/api/sessions/:id",
    {
      config: CHANGING,
      schema: {
        operationId: "deleteThread",
        summary: "Delete a thread and its messages",
        description: "Stops a running turn and ends open event streams.",
        tags: TAGS,
        params: IdPath,
        headers: z.object(HEADERS.sessionKey),
        response: { 200: DeletedThread, ...refusals(401, 404, 413, 429, 503, 507) },
      },
    },
    async (request) => {
      const { id } = request.params;
      const spelling = await request.caller.run((access) => threads.remove(id, access));
      return { session_id: spelling, deleted: true as const };
    },
  );
}

function forkThread(app: HttpApp, { services, admission }: RouteParts): void {
  app.post(
    "/api/sessions/:id/fork",
    {
      config: { access: { ...CHANGING.access, needsKey: true, creates: true } },
      schema: {
        operationId: "forkThread",
        summary: "Copy a thread",
        description:
          "Copies the finished turns, through that of a message, into a new or empty session, with the App, model, title, metadata, owner, wallet and " +
          "user state. Messages keep their time and get new ids. Secrets and pending actions are not copied, and the thread is unchanged.",
        tags: TAGS,
        params: IdPath,
        headers: z.object(HEADERS.sessionKey),
        body: ForkBody,
        response: { 200: Thread, ...refusals(401, 404, 409, 413, 415, 429, 503, 507) },
      },
    },
    (request) => {
      const { id } = request.params;
      const { session_id: spelling, through_message_id: through = null } = request.body;
      const creation = admission.newSession(request, { spelling });
      const admit = admission.copy(request, id);
      return request.caller.run((access) =>
        services.threads.fork(id, { session: spelling.toLowerCase(), through, admit }, access, creation),
      );
    },
  );
}

function claimThread(app: HttpApp, { services }: RouteParts): void {
  app.post(
    "/api/sessions/:id/claim",
    {
      config: CHANGING,
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
    },
    (request) => {
      const { id } = request.params;
      return request.caller.run(async (access) => {
        const claimant = request.caller.claimant();
        if (claimant === null) {
          // Answer 404 for a hidden session, so that its existence is not revealed.
          await services.threads.get(id, access);
          throw claimForbidden();
        }
        return await services.threads.claim(id, claimant, access, await actorOf(request, services.audit));
      });
    },
  );
}

function pinAndUnpin(app: HttpApp, { services }: RouteParts): void {
  const { threads } = services;
  const route = (method: "put" | "delete", pinned: boolean, operationId: string, summary: string) => {
    app[method](
      "/api/sessions/:id/pin",
      {
        config: CHANGING,
        schema: {
          operationId,
          summary,
          description: "Lists show pinned threads first. The same again changes nothing.",
          tags: TAGS,
          params: IdPath,
          headers: z.object(HEADERS.sessionKey),
          response: { 200: Thread, ...refusals(401, 404, 413, 429, 503, 507) },
        },
      },
      (request) => {
        const { id } = request.params;
        return request.caller.run((access) => threads.pin(id, pinned, access));
      },
    );
  };
  route("put", true, "pinThread", "Pin a thread");
  route("delete", false, "unpinThread", "Unpin a thread");
}

/** Clients of the original archive with these routes; `PATCH` does the same. */
function archiveAndUnarchive(app: HttpApp, { services }: RouteParts): void {
  const { threads } = services;
  const route = (name: "archive" | "unarchive", archived: boolean, summary: string) => {
    app.post(
      `/api/sessions/:id/${name}`,
      {
        config: CHANGING,
        schema: {
          operationId: `${name}Thread`,
          summary,
          description: "Like `PATCH` with `is_archived`. The same again changes nothing.",
          tags: TAGS,
          params: IdPath,
          headers: z.object(HEADERS.sessionKey),
          response: { 200: Thread, ...refusals(401, 404, 413, 429, 503, 507) },
        },
      },
      (request) => {
        const { id } = request.params;
        return request.caller.run((access) => threads.edit(id, { archived }, access));
      },
    );
  };
  route("archive", true, "Archive a thread");
  route("unarchive", false, "Take a thread out of the archive");
}

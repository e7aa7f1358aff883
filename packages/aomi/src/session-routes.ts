// Routes of `/v1/agent/sessions`: list, read, rename, archive and delete conversations.

import type { Thread } from "@colloquy/protocol";
import { HEADERS, type HttpApp, optional, Title } from "@colloquy/server/protocol";
import { z } from "zod";
import { answers, type Parts, served, SessionPath, TAGS } from "./route-parts.ts";
import { secondsOf } from "./wallet-actions.ts";

const [PAGE, PAGE_MAX] = [50, 100];

const ListQuery = z.object({
  cursor: optional(z.string().meta({ description: "`nextCursor` of the page before" })),
  limit: optional(
    z
      .string()
      .regex(/^(?:[1-9]\d?|100)$/, `must be an integer from 1 to ${PAGE_MAX}`)
      .meta({
        description: `Sessions of the page; ${PAGE} if absent`,
        type: "integer",
        minimum: 1,
        maximum: PAGE_MAX,
      }),
  ),
});
const Update = z
  .object({
    title: Title.nullish(),
    archived: z.boolean("must be true or false").nullish(),
  })
  .meta({ examples: [{ title: "Bridging to Arbitrum", archived: true }] });

export function sessionRoutes(app: HttpApp, parts: Parts): void {
  app.get(
    "/v1/agent/sessions",
    {
      config: parts.served.accessOf({ session: "none", app: "opened", scope: "read" }),
      schema: {
        operationId: "agentListSessions",
        summary: "List the sessions of the signed-in user",
        description: "Of all served Apps that the caller may use. Callers without a user have none.",
        tags: TAGS,
        headers: z.object(HEADERS.listKey),
        querystring: ListQuery,
        response: answers("A page of sessions, the last active ones first"),
      },
    },
    async (request) => {
      const { cursor = null, limit } = request.query;
      const app = [...parts.served.names];
      const wanted = { app, publicKey: null, limit: Number(limit ?? PAGE), cursor };
      const page = await parts.context.threads(request, wanted);
      return { sessions: page?.threads.map(toSession) ?? [], nextCursor: page?.next ?? null };
    },
  );
  const { 200: _, ...refusals } = answers("");
  const schema = { tags: TAGS, headers: z.object(HEADERS.sessionKey), params: SessionPath };
  app.get(
    "/v1/agent/sessions/:id",
    {
      config: parts.served.accessOf({ session: "path", app: "session", scope: "read" }),
      schema: {
        ...schema,
        operationId: "agentGetSession",
        summary: "Get a session",
        response: answers("The session"),
      },
    },
    async (request) => toSession(await (await served(parts, request)).thread()),
  );
  app.patch(
    "/v1/agent/sessions/:id",
    {
      config: parts.served.accessOf({ session: "path", app: "session", scope: "chat" }),
      schema: {
        ...schema,
        operationId: "agentUpdateSession",
        summary: "Rename or archive a session",
        body: Update,
        response: answers("The session"),
      },
    },
    async (request) => {
      const { title, archived } = request.body;
      const conversation = await served(parts, request);
      return toSession(
        await conversation.edit({ title: title ?? undefined, archived: archived ?? undefined }),
      );
    },
  );
  app.delete(
    "/v1/agent/sessions/:id",
    {
      config: parts.served.accessOf({ session: "path", app: "session", scope: "chat" }),
      schema: {
        ...schema,
        operationId: "agentDeleteSession",
        summary: "Delete a session and its messages",
        response: { 204: z.undefined().meta({ description: "Deleted" }), ...refusals },
      },
    },
    async (request, reply) => {
      await (await served(parts, request)).remove();
      return reply.code(204).send();
    },
  );
}

function toSession({ session_id: id, title, updated_at: at, is_archived: archived }: Thread) {
  return { id, title, updatedAt: secondsOf(at), archived: archived === true };
}

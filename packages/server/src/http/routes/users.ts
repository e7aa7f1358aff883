// Export and erasure of a signed-in user's data (contract section 4).

import { Readable } from "node:stream";
import type { FastifyReply } from "fastify";
import { z } from "zod";
import type { ExportLine } from "@colloquy/engine/internal/core/ports/driving/user-data-service";
import { DEFAULT_APP } from "@colloquy/engine/internal/core/session";
import { actorOf } from "../actors.ts";
import { AppName, optional, refusals } from "../operation.ts";
import type { HttpApp, RouteParts } from "./route-parts.ts";

const USERS = { tags: ["Users"], security: [{ userToken: [] }] };
const Query = z.object({ app: optional(AppName) });

export const ErasedAnswer = z
  .object({ sessions: z.int(), messages: z.int(), secrets: z.int() })
  .meta({ description: "Numbers of deleted records", examples: [{ sessions: 2, messages: 17, secrets: 1 }] });

export const EXPORT_RESPONSE = {
  description: "JSON Lines",
  content: { "application/x-ndjson": { schema: z.string() } },
};

export const EXPORT_DESCRIPTION =
  "JSON Lines with a `kind` each: `session`, then its `message`s and `action`s (the last 1,000); `secret` (the name alone); at the end `done` with counts. " +
  "Without that line, the export is incomplete.";

export function userDataRoutes(app: HttpApp, { services }: RouteParts): void {
  app.get(
    "/api/users/me/export",
    {
      // Each export adds an entry to the audit trail.
      config: { access: { session: "none", app: "query", scope: "read", stores: true } },
      schema: {
        operationId: "exportUser",
        summary: "Export the signed-in user's conversations",
        description: EXPORT_DESCRIPTION,
        ...USERS,
        querystring: Query,
        response: {
          200: EXPORT_RESPONSE,
          ...refusals(401, 429, 503, 507),
        },
      },
    },
    async (request, reply) => {
      const whose = request.caller.sessionsOfUser(request.query.app ?? DEFAULT_APP);
      const by = await actorOf(request, services.audit);
      return sendLines(reply, services.userData.export(whose, by));
    },
  );

  app.delete(
    "/api/users/me",
    {
      config: { access: { session: "none", app: "query", scope: "chat" } },
      schema: {
        operationId: "eraseUser",
        summary: "Erase the signed-in user's conversations and secrets",
        description:
          "Stops running turns and ends event streams. Nothing can be restored. If it fails in the middle, send it again.",
        ...USERS,
        querystring: Query,
        response: { 200: ErasedAnswer, ...refusals(401, 429, 503, 507) },
      },
    },
    async (request) => {
      const whose = request.caller.sessionsOfUser(request.query.app ?? DEFAULT_APP);
      return await services.userData.erase(whose, await actorOf(request, services.audit));
    },
  );
}

/** Sends lines as fast as the client takes them. */
export function sendLines(reply: FastifyReply, lines: AsyncIterable<ExportLine>): FastifyReply {
  async function* texts(): AsyncGenerator<string> {
    for await (const line of lines) yield `${JSON.stringify(line)}\n`;
  }
  const body =
    reply.request.method === "HEAD" ? Readable.from([]) : Readable.from(texts(), { highWaterMark: 16 });
  return reply.type("application/x-ndjson").send(body);
}

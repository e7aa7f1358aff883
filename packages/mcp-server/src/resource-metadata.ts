// OAuth 2.0 protected resource metadata (RFC 9728), for Apps whose users sign in (setting `users`).

import { DEFAULT_APP, type FastifyReply, type FastifyRequest, NotFound } from "@colloquy/server/protocol";
import { z } from "zod";
import { ERROR_RESPONSES } from "./errors.ts";
import { type App, type Parts, PATH, TAGS } from "./route-parts.ts";

const WELL_KNOWN = "/.well-known/oauth-protected-resource";

export const AppQuery = z.object({
  app: z
    .string("must be sent once")
    .optional()
    .meta({ description: "App; `default` if absent", examples: [DEFAULT_APP] }),
});

/** Returns the App named in the query; `default` if absent. */
export function appIn(request: FastifyRequest): string {
  const { app } = request.query as { readonly app?: unknown };
  return typeof app === "string" && app !== "" ? app : DEFAULT_APP;
}

export function metadataRoutes(app: App, { context, served }: Parts): void {
  // Most clients append the endpoint's path (RFC 9728 section 3.1), but some request the root.
  for (const [path, operationId] of [
    [WELL_KNOWN, "mcpServerResourceMetadata"],
    [WELL_KNOWN + PATH, "mcpResourceMetadata"],
  ] as const)
    app.get(
      path,
      {
        config: { access: "public" },
        schema: {
          operationId,
          summary: "Get the OAuth metadata of the MCP endpoint",
          description:
            "Protected resource metadata (RFC 9728) with the issuer of the App's users. 404 for an App without `users`.",
          tags: TAGS,
          security: [],
          querystring: AppQuery,
          response: {
            200: z
              .object({
                resource: z.string(),
                authorization_servers: z.array(z.string()),
                bearer_methods_supported: z.array(z.string()),
              })
              .meta({ description: "Metadata" }),
            ...ERROR_RESPONSES,
          },
        },
      },
      (request) => {
        const name = appIn(request);
        const issuer = served.names.has(name) ? context.issuerOf(name) : null;
        if (issuer === null)
          throw new NotFound("metadata_not_found", "This App has no users who sign in. Send its App key.");
        return {
          resource: `${baseOf(request)}${PATH}${queryOf(name)}`,
          authorization_servers: [issuer],
          bearer_methods_supported: ["header"],
        };
      },
    );
}

/** Adds the URL of the metadata to a 401 (RFC 9728 section 5.1). */
export function challenge({ context, served }: Parts, request: FastifyRequest, reply: FastifyReply): void {
  const name = appIn(request);
  if (reply.statusCode !== 401 || !served.names.has(name) || context.issuerOf(name) === null) return;
  const sent = reply.getHeader("www-authenticate");
  const own = typeof sent === "string" && sent.startsWith("Bearer ") ? sent : 'Bearer realm="colloquy"';
  const url = `${baseOf(request)}${WELL_KNOWN}${PATH}${queryOf(name)}`;
  reply.header("www-authenticate", `${own}, resource_metadata="${url}"`);
}

/** Returns the origin of the request's URL; behind a trusted proxy, the proxy's origin. */
function baseOf({ protocol, host }: FastifyRequest): string {
  return `${protocol}://${host}`;
}

function queryOf(app: string): string {
  return app === DEFAULT_APP ? "" : `?app=${encodeURIComponent(app)}`;
}

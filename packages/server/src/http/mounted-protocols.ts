// Creates the configured protocols and applies protocol-wide settings, such as error formats, to their
// routes.

import type { Problem } from "@colloquy/protocol";
import type { RouteOptions } from "fastify";
import { z } from "zod";
import { loadOnce } from "@colloquy/engine/internal/core/load-once";
import { isPublic } from "@colloquy/engine/internal/core/loopback";
import { DEFAULT_APP } from "@colloquy/engine/internal/core/session";
import type { Logger } from "@colloquy/engine/internal/core/ports/driven/logger";
import { type HttpConfig, originCheck } from "./edge.ts";
import { appForbidden } from "./access/refusals.ts";
import { refusals } from "./operation.ts";
import type { ConfiguredProtocol, FormattedError, Protocol, ProtocolContext } from "./protocol.ts";
import { RequestedConversation } from "./protocol-conversation.ts";
import type { HttpApp, ProtocolRoutes, RouteParts } from "./routes/route-parts.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** Formats errors of the route instead of a problem document. */
    formatError?: (problem: Problem) => FormattedError;
  }
}

interface MountOptions {
  readonly protocols?: readonly ConfiguredProtocol[];
  readonly sessionBytes: number;
  readonly config: HttpConfig;
  readonly logger: Logger;
}

/** Errors of protocol routes in addition to those of every operation. */
const ERRORS = refusals(401, 403, 404, 409, 413, 415, 429, 503, 507);

/** Adds error responses to the documentation of a route that documents none. */
function documentErrors(route: RouteOptions, areProblems: boolean): void {
  const { schema } = route;
  const responses = (schema?.response ?? {}) as Readonly<Record<string, unknown>>;
  if (schema === undefined || Object.keys(responses).some((status) => status >= "400")) return;
  const errors = Object.entries(ERRORS).map(([status, error]) => [
    status,
    areProblems ? error : { description: error.description, content: { "*/*": { schema: z.unknown() } } },
  ]);
  route.schema = { ...schema, response: { ...Object.fromEntries(errors), ...responses } };
}

/**
 * Returns functions that register the routes. Each protocol is created once, when its routes are first
 * registered.
 */
export function mountProtocols(
  app: HttpApp,
  { protocols = [], sessionBytes, config, logger }: MountOptions,
  parts: Pick<RouteParts, "services" | "answers" | "admission">,
): readonly ProtocolRoutes[] {
  const isAllowed = originCheck(config);
  return protocols.map(({ plugin, settings }) => {
    const context: ProtocolContext = {
      name: plugin.name,
      logger,
      sessionBytes,
      isLoopback: !isPublic(config),
      apps: ({ caller }) =>
        [DEFAULT_APP, ...caller.opened()].flatMap((name) => {
          const app = parts.services.apps.get(name);
          return app === null ? [] : [{ name, models: app.models }];
        }),
      issuerOf: (name) => parts.services.apps.get(name)?.users?.issuer ?? null,
      isOriginAllowed: ({ raw }) => raw.headers.origin === undefined || isAllowed(raw.headers.origin, raw),
      async threads({ caller }, { app: named, ...wanted }) {
        const access = caller.list(wanted.publicKey);
        if (typeof named === "string" && !access.apps.includes(named)) throw appForbidden();
        if (wanted.publicKey === null && access.user === null) return null;
        const apps = access.apps.filter((app) => [named].flat().includes(app));
        return await parts.services.threads.list({ ...wanted, access: { ...access, apps } });
      },
      async search({ caller }, { app: name, onlyConversation, ...wanted }) {
        const access = caller.list(null);
        if (!access.apps.includes(name)) throw appForbidden();
        const inApp = { ...access, apps: [name] };
        const { user } = access;
        if (onlyConversation) {
          const sessions = { kind: "session", id: caller.sessionId, access: inApp } as const;
          return await parts.services.search.find({ ...wanted, sessions });
        }
        if (user === null) return null;
        const sessions = { kind: "user", access: { ...inApp, user } } as const;
        return await parts.services.search.find({ ...wanted, sessions });
      },
      conversation: (request, named) => new RequestedConversation({ ...parts, logger }, request, named),
    };
    let created: Protocol | null = null;
    const create = loadOnce(async () => {
      try {
        created = await plugin.create(settings.reveal() as never, context);
        return created;
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        throw new Error(`The protocol "${plugin.name}" cannot be set up: ${reason}`, { cause: error });
      }
    });
    app.addHook("onClose", async () => await created?.close?.());
    return async (routes) => {
      const protocol = await create();
      const formatError = protocol.formatError?.bind(protocol);
      routes.addHook("onRoute", (route) => {
        if (formatError !== undefined) route.config = { ...route.config, formatError };
        documentErrors(route, formatError === undefined);
      });
      protocol.routes(routes.withTypeProvider());
    };
  });
}

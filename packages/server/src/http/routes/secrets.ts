import type { FastifyRequest } from "fastify";
import { z } from "zod";
import { InvalidRequest, ServiceError } from "@colloquy/engine/internal/core/errors";
import type { JsonObject } from "@colloquy/engine/internal/core/json";
import { isPublic } from "@colloquy/engine/internal/core/loopback";
import { SECRET_MAX } from "@colloquy/engine/internal/core/secrets";
import { DEFAULT_APP } from "@colloquy/engine/internal/core/session";
import { actorOf } from "../actors.ts";
import { AppName, ClientId, HEADERS, optional, refusals } from "../operation.ts";
import { accepts } from "../access/credentials.ts";
import type { HttpApp, RouteParts } from "./route-parts.ts";

const ROUTE = "/api/secrets";
const TAGS = ["Secrets"];
const SLOT_NAME_MAX = 128;
const ACCESS = { access: { session: "none", app: "query", scope: "secrets", counted: "caller" } } as const;

const Client = z.object({ client_id: ClientId.optional(), app: optional(AppName) });
const ClientAndSlot = Client.extend({
  name: z
    .string("must be a string")
    .min(1, "must not be empty")
    .max(SLOT_NAME_MAX, `must be at most ${SLOT_NAME_MAX} characters`)
    .optional()
    .meta({ description: "Slot to empty, such as `ALCHEMY_KEY`; all of them when absent" }),
});

/** Valid names depend on the App, so the service checks them; its errors contain no values. */
const Values = z.record(z.string(), z.unknown()).meta({
  description: 'Values by slot that the App declares, such as `{"ALCHEMY_KEY": "the key of the user"}`',
  additionalProperties: { type: "string", minLength: 1, maxLength: SECRET_MAX },
  // No example, because the names depend on the App.
  examples: [{}],
});

const Names = z.array(z.string()).meta({
  description: "Names of the stored secrets",
  examples: [["ALCHEMY_KEY"]],
});

const Removed = z
  .object({ removed: z.int().meta({ description: "Number of removed secrets" }) })
  .meta({ examples: [{ removed: 1 }] });

/** Secrets of an App's clients (contract section 4), which are never returned. */
export function secretRoutes(app: HttpApp, parts: RouteParts): void {
  const admit = admission(parts);
  list(app, parts, admit);
  set(app, parts, admit);
  remove(app, parts, admit);
}

/** Returns the App and the client whose secrets the request may use. */
type Admit = (
  request: FastifyRequest,
  query: { readonly app?: string | undefined; readonly client_id?: string | undefined },
  body: unknown,
) => Promise<{ readonly app: string; readonly clientId: string }>;

function admission({ admission, config }: RouteParts): Admit {
  return async (request, { app = DEFAULT_APP, client_id: named }, body) => {
    const { caller } = request;
    caller.authorizeApp(app);
    const isUser = accepts(caller.user, app);
    if (app === DEFAULT_APP && !isUser && isPublic(config)) throw keyNeeded();
    const clientId = caller.clientOf(app, named ?? null);
    if (clientId === null) throw clientMissing();
    await admission.secrets(request, { app, clientId, sessionId: null }, body);
    return { app, clientId };
  };
}

/**
 * Returns the refusal for the default App's secrets, which only local clients may use: the App has no key and
 * client ids are not secret, so any client could replace the secrets of others.
 */
function keyNeeded(): ServiceError {
  return new ServiceError(
    403,
    "secrets_need_key",
    "The App default has no key, so its secrets are available only on this machine. Use an App with its own key.",
  );
}

function clientMissing(): InvalidRequest {
  const detail =
    'The query parameter "client_id" is missing: it must be 1 to 128 characters without control characters.';
  return new InvalidRequest("parameter_missing", detail);
}

function list(app: HttpApp, { services }: RouteParts, admit: Admit): void {
  app.get(
    ROUTE,
    {
      config: ACCESS,
      schema: {
        operationId: "listSecrets",
        summary: "List the names of a client's stored secrets",
        tags: TAGS,
        headers: z.object(HEADERS.appKey),
        querystring: Client,
        response: { 200: Names, ...refusals(401, 429, 503) },
      },
    },
    async (request, reply) => {
      const { app: name, clientId } = await admit(request, request.query, null);
      return reply.send([...(await services.secrets.names(name, clientId))]);
    },
  );
}

function set(app: HttpApp, { services }: RouteParts, admit: Admit): void {
  app.put(
    ROUTE,
    {
      config: ACCESS,
      schema: {
        operationId: "setSecrets",
        summary: "Set or replace secrets of a client",
        description:
          "Only slots that the App declares. Sets all of them or none, and answers which are set then.",
        tags: TAGS,
        headers: z.object(HEADERS.appKey),
        querystring: Client,
        body: Values,
        response: { 200: Names, ...refusals(401, 413, 415, 429, 503, 507) },
      },
    },
    async (request, reply) => {
      const { app: name, clientId } = await admit(request, request.query, request.body);
      // The body parser only yields JSON.
      const values = request.body as JsonObject;
      const by = await actorOf(request, services.audit);
      return reply.send([...(await services.secrets.set(name, clientId, values, by))]);
    },
  );
}

function remove(app: HttpApp, { services }: RouteParts, admit: Admit): void {
  app.delete(
    ROUTE,
    {
      config: ACCESS,
      schema: {
        operationId: "removeSecrets",
        summary: "Remove one secret of a client, or all of them",
        description: "Answers the same way when nothing was set.",
        tags: TAGS,
        headers: z.object(HEADERS.appKey),
        querystring: ClientAndSlot,
        response: { 200: Removed, ...refusals(401, 429, 503, 507) },
      },
    },
    async (request) => {
      const { app: name, clientId } = await admit(request, request.query, {});
      const { name: slot = null } = request.query;
      const by = await actorOf(request, services.audit);
      return { removed: await services.secrets.remove(name, clientId, slot, by) };
    },
  );
}

import type { FastifyRequest } from "fastify";
import { z } from "zod";
import { InvalidRequest, ServiceError } from "@colloquy/engine/internal/core/errors";
import { isJsonObject, type JsonObject } from "@colloquy/engine/internal/core/json";
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
const SlotName = z
  .string("must be a string")
  .min(1, "must not be empty")
  .max(SLOT_NAME_MAX, `must be at most ${SLOT_NAME_MAX} characters`)
  .meta({ description: "Slot to empty", examples: ["ALCHEMY_KEY"] });
const ClientAndSlot = Client.extend({
  name: SlotName.optional().meta({
    description: "Slot to empty, such as `ALCHEMY_KEY`; all of them when absent",
  }),
});

/**
 * Valid names depend on the App, so the service checks them; its errors contain no values. Not a zod record, whose
 * copy would lose a name `__proto__`.
 */
const Values = z.custom<JsonObject>(isJsonObject, "must be a JSON object").meta({
  type: "object",
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
  .object({
    removed: z.int().meta({ description: "Number of removed secrets" }),
    cleared: z.literal(true).meta({ description: "For clients of the original" }),
  })
  .meta({ examples: [{ removed: 1, cleared: true }] });

/** What clients of the original send in place of the query and the body of `PUT`. */
const Sent = z
  .object({
    client_id: ClientId.optional(),
    app: optional(AppName.nullable()),
    secrets: Values,
  })
  .meta({ example: { client_id: "web-7", secrets: {} } });

const Handles = z
  .object({
    handles: z.record(z.string(), z.string()).meta({ description: "A name for each of them, by slot" }),
  })
  .meta({ examples: [{ handles: { ALCHEMY_KEY: "$SECRET:ALCHEMY_KEY" } }] });

const Deleted = z
  .object({ deleted: z.boolean().meta({ description: "False if the slot was empty" }) })
  .meta({ examples: [{ deleted: true }] });

/** Secrets of an App's clients (contract section 4), which are never returned. */
export function secretRoutes(app: HttpApp, parts: RouteParts): void {
  const admit = admission(parts);
  list(app, parts, admit);
  set(app, parts, admit);
  remove(app, parts, admit);
  send(app, parts, admit);
  removeNamed(app, parts, admit);
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
  const detail = '"client_id" is missing. Send 1 to 128 characters without control characters.';
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
      const values = request.body;
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
      return { removed: await services.secrets.remove(name, clientId, slot, by), cleared: true as const };
    },
  );
}

/** `PUT` as clients of the original send it. */
function send(app: HttpApp, { services }: RouteParts, admit: Admit): void {
  app.post(
    ROUTE,
    {
      config: { access: { ...ACCESS.access, app: "body" } },
      schema: {
        operationId: "ingestSecrets",
        summary: "Set or replace secrets of a client named in the body",
        description: "Like `PUT`, for clients of the original.",
        tags: TAGS,
        headers: z.object(HEADERS.appKey),
        body: Sent,
        response: { 200: Handles, ...refusals(401, 413, 415, 429, 503, 507) },
      },
    },
    async (request) => {
      const { client_id, app: named } = request.body;
      const sent = { client_id, app: named ?? undefined };
      const values = request.body.secrets;
      const { app: name, clientId } = await admit(request, sent, values);
      const by = await actorOf(request, services.audit);
      await services.secrets.set(name, clientId, values, by);
      return { handles: Object.fromEntries(Object.keys(values).map((slot) => [slot, `$SECRET:${slot}`])) };
    },
  );
}

/** `DELETE` of one secret as clients of the original send it. */
function removeNamed(app: HttpApp, { services }: RouteParts, admit: Admit): void {
  app.delete(
    `${ROUTE}/:name`,
    {
      config: ACCESS,
      schema: {
        operationId: "removeSecret",
        summary: "Remove one secret of a client",
        description: "Like `DELETE /api/secrets?name=`, for clients of the original.",
        tags: TAGS,
        headers: z.object(HEADERS.appKey),
        params: z.object({ name: SlotName }),
        querystring: Client,
        response: { 200: Deleted, ...refusals(401, 429, 503, 507) },
      },
    },
    async (request) => {
      const { app: name, clientId } = await admit(request, request.query, {});
      const by = await actorOf(request, services.audit);
      const removed = await services.secrets.remove(name, clientId, request.params.name, by);
      return { deleted: removed > 0 };
    },
  );
}

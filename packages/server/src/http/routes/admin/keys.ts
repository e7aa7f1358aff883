import { KeyScope } from "@colloquy/protocol";
import { z } from "zod";
import { operatorOf } from "../../actors.ts";
import { AdminKey, IssuedAdminKey } from "../../documented.ts";
import { AppName, refusals } from "../../operation.ts";
import { type HttpApp, ADMIN, type AdminParts, OPERATOR } from "../route-parts.ts";

const NAME_MAX = 100;
const APPS_MAX = 100;
const DAY_SECONDS = 24 * 60 * 60;
/** Maximum duration, a hundred years. Longer durations are mistakes. */
const SECONDS_MAX = 100 * 365 * DAY_SECONDS;

const KeyPath = z.object({
  id: z.string().meta({ description: "Id of the key", examples: ["4fTzq0LkW1nB7xYc"] }),
});

function seconds(from: number, description: string): z.ZodType<number, number> {
  const message = `must be a whole number from ${from} to ${SECONDS_MAX}`;
  return z.int(message).min(from, message).max(SECONDS_MAX, message).meta({ description });
}

const CreateBody = z.object({
  apps: z
    .array(AppName, "must be a list of names")
    .max(APPS_MAX, `must name at most ${APPS_MAX} Apps`)
    .meta({
      description:
        "Names of configured Apps that it opens; `default` needs no key, and an operator's key opens none",
      examples: [["defi"]],
    }),
  scopes: z
    .array(KeyScope, "must be a list of scopes")
    .nullish()
    .meta({ description: "What it may be used for; everything in its Apps when absent or empty" }),
  name: z
    .string("must be a string")
    .trim()
    .min(1, "must not be blank")
    .max(NAME_MAX, `must be at most ${NAME_MAX} characters`)
    .regex(/^\P{Cc}*$/u, "must have no control characters")
    .nullish()
    .meta({ description: "What it is for" }),
  expires_in_seconds: seconds(1, "How long it is good; for ever when absent").nullish(),
});

const RotateBody = z
  .object({
    overlap_seconds: seconds(0, "How long the old key stays good; a day when absent").nullish(),
  })
  .nullish()
  .meta({ description: "Optional" });

export function adminKeyRoutes(app: HttpApp, parts: AdminParts): void {
  listAndCreate(app, parts);
  endKeys(app, parts);
}

function listAndCreate(app: HttpApp, { service }: AdminParts): void {
  app.get(
    "/api/admin/keys",
    {
      config: OPERATOR,
      schema: {
        operationId: "adminListKeys",
        summary: "List the keys that open Apps",
        description: "All that were ever made, good or not, oldest first.",
        ...ADMIN,
        querystring: z.object({
          app: AppName.optional().meta({ description: "Keys that open this App alone" }),
        }),
        response: {
          200: z.array(AdminKey).meta({ description: "The keys" }),
          ...refusals(401, 403, 429, 503),
        },
      },
    },
    async (request, reply) => reply.send([...(await service.keys(request.query.app ?? null))]),
  );

  app.post(
    "/api/admin/keys",
    {
      config: OPERATOR,
      schema: {
        operationId: "adminCreateKey",
        summary: "Make a key",
        description: "The answer shows it whole, this once: only a digest of it is kept.",
        ...ADMIN,
        body: CreateBody,
        response: { 200: IssuedAdminKey, ...refusals(401, 403, 413, 415, 429, 503, 507) },
      },
    },
    (request) => {
      const { apps, scopes, name, expires_in_seconds: life = null } = request.body;
      const expiresInMs = life === null ? null : life * 1000;
      const wanted = { apps, scopes: scopes ?? [], name: name ?? null, expiresInMs };
      return service.createKey(wanted, operatorOf(request));
    },
  );
}

function endKeys(app: HttpApp, { service }: AdminParts): void {
  app.delete(
    "/api/admin/keys/:id",
    {
      config: OPERATOR,
      schema: {
        operationId: "adminRevokeKey",
        summary: "Revoke a key",
        description:
          "It opens nothing any more, everywhere within five seconds. The same for one that is revoked.",
        ...ADMIN,
        params: KeyPath,
        response: { 200: AdminKey, ...refusals(401, 403, 404, 429, 503, 507) },
      },
    },
    (request) => service.revokeKey(request.params.id, operatorOf(request)),
  );

  app.post(
    "/api/admin/keys/:id/rotate",
    {
      config: OPERATOR,
      schema: {
        operationId: "adminRotateKey",
        summary: "Rotate a key",
        description:
          "Makes a key for the same Apps and scopes, for as long, shown whole this once; the old one ends after the overlap, if it does not end before.",
        ...ADMIN,
        params: KeyPath,
        body: RotateBody,
        response: { 200: IssuedAdminKey, ...refusals(401, 403, 404, 413, 415, 429, 503, 507) },
      },
    },
    (request) => {
      const overlapMs = (request.body?.overlap_seconds ?? DAY_SECONDS) * 1000;
      return service.rotateKey(request.params.id, overlapMs, operatorOf(request));
    },
  );
}

import { z } from "zod";
import type { Person } from "@colloquy/engine/internal/core/ports/driving/admin-service";
import { operatorOf, readerOf } from "../../actors.ts";
import { AppName, PublicKey, refusals } from "../../operation.ts";
import { type HttpApp, ADMIN, type AdminParts, OPERATOR } from "../route-parts.ts";
import { ErasedAnswer, EXPORT_DESCRIPTION, EXPORT_RESPONSE, sendLines } from "../users.ts";

const TEXT_MAX = 1024;

function text(description: string) {
  const message = `must be 1 to ${TEXT_MAX} characters`;
  return z.string(message).min(1, message).max(TEXT_MAX, message).meta({ description }).optional();
}

const PersonQuery = z
  .object({
    issuer: text("`iss` of the user's tokens, with `subject`"),
    subject: text("`sub` of the user's tokens"),
    owner: text("Pseudonym of the user from the log line of an erasure, in place of issuer and subject"),
    public_key: PublicKey.optional().meta({ description: "Wallet address, in place of issuer and subject" }),
    app: AppName.optional().meta({ description: "Only in this App; in all when absent" }),
  })
  .refine(
    ({ issuer, subject, owner, public_key }) => {
      const [user, ...others] = [issuer ?? subject, owner, public_key];
      const named = [user, ...others].filter((name) => name !== undefined).length;
      return named === 1 && (issuer === undefined) === (subject === undefined);
    },
    { path: ["issuer"], error: "must be sent with subject, or owner or public_key in place of both" },
  );

function personOf({ issuer, subject, owner, public_key, app }: z.output<typeof PersonQuery>): Person {
  const user = issuer === undefined || subject === undefined ? null : { issuer, subject };
  return { user, owner: owner ?? null, publicKey: public_key ?? null, app: app ?? null };
}

export function adminUserRoutes(app: HttpApp, { service }: AdminParts): void {
  app.get(
    "/api/admin/users/export",
    {
      config: OPERATOR,
      schema: {
        operationId: "adminExportUser",
        summary: "Export the conversations of a user or a wallet",
        description: `${EXPORT_DESCRIPTION} Callers without \`admin:write\` get handles in place of session ids, and no wallet addresses.`,
        ...ADMIN,
        querystring: PersonQuery,
        response: {
          200: EXPORT_RESPONSE,
          ...refusals(401, 403, 429, 503, 507),
        },
      },
    },
    async (request, reply) => {
      return sendLines(reply, await service.exportUser(personOf(request.query), readerOf(request)));
    },
  );

  app.delete(
    "/api/admin/users",
    {
      config: OPERATOR,
      schema: {
        operationId: "adminEraseUser",
        summary: "Erase the conversations and secrets of a user, or the conversations of a wallet",
        description:
          "Stops running turns and ends event streams. Nothing can be restored. If it fails in the middle, send it again.",
        ...ADMIN,
        querystring: PersonQuery,
        response: { 200: ErasedAnswer, ...refusals(401, 403, 429, 503, 507) },
      },
    },
    (request) => service.eraseUser(personOf(request.query), operatorOf(request)),
  );
}

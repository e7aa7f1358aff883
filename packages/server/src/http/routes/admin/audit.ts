import { AuditAction } from "@colloquy/protocol";
import { z } from "zod";
import { readerOf } from "../../actors.ts";
import { AuditPage } from "../../documented.ts";
import { AppName, limitUpTo, refusals, time } from "../../operation.ts";
import { type HttpApp, ADMIN, type AdminParts, OPERATOR } from "../route-parts.ts";

const PAGE_MAX = 200;
const PAGE = 50;
const TEXT_MAX = 200;

function text(description: string) {
  const message = `must be 1 to ${TEXT_MAX} characters`;
  return z.string(message).min(1, message).max(TEXT_MAX, message).meta({ description }).optional();
}

const AuditQuery = z.object({
  action: z
    .enum(AuditAction.options, `must be one of ${AuditAction.options.join(", ")}`)
    .optional()
    .meta({ description: "Only entries of this action" }),
  actor: text("Id or name of the actor"),
  app: AppName.optional().meta({ description: "Only entries of this App" }),
  target: text("Id of a session or key, or handle of a session"),
  from: time("First time"),
  to: time("End, exclusive"),
  limit: limitUpTo(PAGE_MAX, `Entries in a page; ${PAGE} when absent`).optional(),
  cursor: z.string().optional().meta({ description: "`next_cursor` of the previous page" }),
});

export function adminAuditRoute(app: HttpApp, { service }: AdminParts): void {
  app.get(
    "/api/admin/audit",
    {
      config: OPERATOR,
      schema: {
        operationId: "adminListAudit",
        summary: "Read the audit trail",
        description:
          "Who changed keys, owners, secrets and the configuration, decided actions, and read or deleted conversations as an operator; " +
          "newest first. The same conversation read again by the same operator within a minute is one entry, and so are failed logins from an address.",
        ...ADMIN,
        querystring: AuditQuery,
        response: { 200: AuditPage, ...refusals(401, 403, 429, 503) },
      },
    },
    (request) => {
      const {
        action = null,
        actor = null,
        app = null,
        target = null,
        from = null,
        to = null,
      } = request.query;
      const { limit = PAGE, cursor = null } = request.query;
      return service.audit({ action, actor, app, target, from, to, limit, cursor }, readerOf(request));
    },
  );
}

// The audit trail under `/api/admin/audit`.

import { z } from "zod";
import { Json } from "./json.ts";
import { Timestamp } from "./timestamp.ts";

export const AuditAction = z
  .enum([
    "action_decided",
    "config_reloaded",
    "key_created",
    "key_revoked",
    "key_rotated",
    "login_failed",
    "secrets_removed",
    "secrets_set",
    "session_claimed",
    "session_deleted",
    "session_read",
    "session_transferred",
    "user_erased",
    "user_exported",
  ])
  .meta({ description: "The recorded action" });
export type AuditAction = z.infer<typeof AuditAction>;

export const ActorKind = z
  .enum(["admin_key", "key", "operator", "user", "client", "command_line", "service"])
  .meta({
    description:
      "`admin_key`: the key that the service was started with; `key`: another key; `operator` and `user`: the holder of a token; " +
      "`client`: anyone who knows a session's id; `command_line`: a command on the machine; `service`: the service itself",
  });
export type ActorKind = z.infer<typeof ActorKind>;

export const AuditEntry = z.object({
  id: z.string(),
  at: Timestamp,
  action: AuditAction,
  actor: z.object({
    kind: ActorKind,
    id: z.string().nullable().meta({
      description:
        "Id of the key, subject of the operator's token, or pseudonym of the user; `null` for others",
    }),
    name: z
      .string()
      .nullable()
      .meta({ description: "Name of the key, the operator, or the account of the machine" }),
    address: z.string().nullable().meta({ description: "Network address" }),
  }),
  app: z.string().nullable(),
  target: z.string().nullable().meta({
    description: "Id of the session or key; for callers without `admin:write` the handle of the session",
  }),
  details: z.record(z.string(), Json).meta({
    description:
      "Details of the action; never text of a conversation. Callers without `admin:write` see no UUIDs in it",
  }),
  request_id: z.string().nullable().meta({ description: "`X-Request-Id` of the request" }),
});
export type AuditEntry = z.infer<typeof AuditEntry>;

export const AuditPage = z.object({
  entries: z.array(AuditEntry).meta({ description: "Newest first" }),
  next_cursor: z
    .string()
    .nullable()
    .meta({ description: "`cursor` of the next page; `null` on the last one" }),
});
export type AuditPage = z.infer<typeof AuditPage>;

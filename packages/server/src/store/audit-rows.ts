// Rows of the audit trail, which have the same types in all adapters.

import { randomUUID } from "node:crypto";
import { repetitionKey, type AuditEntry, type AuditRecord } from "../core/audit.ts";

export const AUDIT = {
  id: "text",
  at: "bigint",
  action: "text",
  actor_kind: "text",
  actor_id: "text",
  actor_name: "text",
  address: "text",
  request_id: "text",
  app: "text",
  target: "text",
  details: "text",
  once: "text",
} as const;

/** Parameters 1 to 8: action, actor, App, target, from, to, and time and id of the last entry of the previous page. */
export const AUDIT_CONDITION = `(?1 IS NULL OR action = ?1) AND (?2 IS NULL OR actor_id = ?2 OR actor_name = ?2)
  AND (?3 IS NULL OR app = ?3) AND (?4 IS NULL OR target = ?4) AND (?5 IS NULL OR at >= ?5) AND (?6 IS NULL OR at < ?6)
  AND (?7 IS NULL OR at < ?7 OR (at = ?7 AND id < ?8))`;

export interface AuditRow {
  readonly id: string;
  readonly at: number;
  readonly action: string;
  readonly actor_kind: string;
  readonly actor_id: string | null;
  readonly actor_name: string | null;
  readonly address: string | null;
  readonly request_id: string | null;
  readonly app: string | null;
  readonly target: string | null;
  readonly details: string;
}

/** Entries that this process has written. */
let written = 0;

/** Ids sort entries of the same millisecond in the order in which a process wrote them. */
function newId(): string {
  written += 1;
  return `${written.toString(36).padStart(8, "0")}-${randomUUID()}`;
}

/** Returns the values of a new row, in the order of `AUDIT`. */
export function auditRow(at: number, entry: AuditEntry): (string | number | null)[] {
  const { action, actor, app, target, details } = entry;
  const { kind, id, name, address, requestId } = actor;
  const about = [app, target, JSON.stringify(details), repetitionKey(entry, at)];
  return [newId(), at, action, kind, id, name, address, requestId, ...about];
}

export function toAudit(row: AuditRow): AuditRecord {
  return {
    id: row.id,
    at: row.at,
    action: row.action as AuditRecord["action"],
    actor: {
      kind: row.actor_kind as AuditRecord["actor"]["kind"],
      id: row.actor_id,
      name: row.actor_name,
      address: row.address,
      requestId: row.request_id,
    },
    app: row.app,
    target: row.target,
    details: JSON.parse(row.details) as AuditRecord["details"],
  };
}

// The audit trail. An entry about a change is written in the transaction of the change.

import { randomUUID } from "node:crypto";
import { repetitionKey, type AuditEntry, type AuditRecord } from "../core/audit.ts";
import type { AuditStore } from "../core/ports/driven/store.ts";
import { change, look, prepare, type SharedPort, type Value, type Work } from "./shared.ts";

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

interface AuditRow {
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

/** Number of entries that this process has written. */
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

function toAudit(row: AuditRow): AuditRecord {
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

const COLUMNS = Object.keys(AUDIT).join(", ");
const insert = prepare<Value[]>(
  `INSERT INTO audit (${COLUMNS}) VALUES (${Object.keys(AUDIT)
    .map((_name, index) => `$${index + 1}`)
    .join(", ")})
   ON CONFLICT (once) DO NOTHING`,
);
// PostgreSQL needs explicit types for parameters that are only compared with NULL.
const list = prepare<Value[], AuditRow>(
  `SELECT ${COLUMNS} FROM audit
   WHERE ($1::text IS NULL OR action = $1) AND ($2::text IS NULL OR actor_id = $2 OR actor_name = $2)
     AND ($3::text IS NULL OR app = $3) AND ($4::text IS NULL OR target = $4)
     AND ($5::bigint IS NULL OR at >= $5) AND ($6::bigint IS NULL OR at < $6)
     AND ($7::bigint IS NULL OR at < $7 OR (at = $7 AND id < $8::text))
   ORDER BY at DESC, id DESC LIMIT $9`,
);
const forget = prepare<[number, number]>(
  "DELETE FROM audit WHERE id IN (SELECT id FROM audit WHERE at < $1 LIMIT $2)",
);
const addSalt = prepare<[string, string], { readonly salt: string }>(
  `INSERT INTO audit_salts (owned_by, salt) VALUES ($1, $2)
   ON CONFLICT (owned_by) DO UPDATE SET owned_by = excluded.owned_by RETURNING salt`,
);
const forgetSalt = prepare<[string]>("DELETE FROM audit_salts WHERE owned_by = $1");

/** Writes an entry in the current transaction; nothing for `null`. */
export function* writeAudit(at: number, entry: AuditEntry | null): Work<void> {
  if (entry !== null) yield* insert.run(...auditRow(at, entry));
}

export const audit: SharedPort<AuditStore> = {
  add: change("audit", writeAudit),
  list: look("audit", function* (_at, { action, actor, app, target, from, to, after, limit }) {
    const { at = null, id = null } = after ?? {};
    return (yield* list.all(action, actor, app, target, from, to, at, id, limit)).map(toAudit);
  }),
  forget: change("audit", (_at, before, limit) => forget.run(before, limit)),
  saltOf: change("audit", function* (_at, owner, fresh) {
    return (yield* addSalt.get(owner, fresh))?.salt ?? fresh;
  }),
  endErasure: change("audit", function* (at, entry, owner) {
    yield* writeAudit(at, entry);
    if (owner !== null) yield* forgetSalt.run(owner);
  }),
};

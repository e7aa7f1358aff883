import type { AuditEntry } from "../../core/audit.ts";
import type { AuditStore } from "../../core/ports/driven/store.ts";
import { AUDIT, AUDIT_CONDITION, auditRow, type AuditRow, toAudit } from "../audit-rows.ts";
import type { Synchronous } from "./calls.ts";
import type { Prepare } from "./database.ts";

/** Writes an entry in the current transaction. */
export type WriteAudit = (at: number, entry: AuditEntry) => void;

export function prepareAuditWriter(prepare: Prepare): WriteAudit {
  const columns = Object.keys(AUDIT);
  const insert = prepare<(string | number | null)[]>(
    `INSERT INTO audit (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")}) ON CONFLICT (once) DO NOTHING`,
  );
  return (at, entry) => void insert.run(...auditRow(at, entry));
}

export function prepareAudit(prepare: Prepare): Synchronous<AuditStore> {
  const write = prepareAuditWriter(prepare);
  const list = prepare<(string | number | null)[], AuditRow>(
    `SELECT * FROM audit WHERE ${AUDIT_CONDITION} ORDER BY at DESC, id DESC LIMIT ?9`,
  );
  const forget = prepare<[number, number]>(
    "DELETE FROM audit WHERE id IN (SELECT id FROM audit WHERE at < ? LIMIT ?)",
  );
  const addSalt = prepare<[string, string]>(
    "INSERT INTO audit_salts (owned_by, salt) VALUES (?, ?) ON CONFLICT DO NOTHING",
  );
  const salt = prepare<[string], { readonly salt: string }>(
    "SELECT salt FROM audit_salts WHERE owned_by = ?",
  );
  const forgetSalt = prepare<[string]>("DELETE FROM audit_salts WHERE owned_by = ?");
  return {
    add: write,
    list: (_at, { action, actor, app, target, from, to, after, limit }) =>
      list
        .all(action, actor, app, target, from, to, after?.at ?? null, after?.id ?? null, limit)
        .map(toAudit),
    forget: (_at, before, limit) => forget.run(before, limit),
    saltOf: (_at, owner, fresh) => {
      addSalt.run(owner, fresh);
      return salt.get(owner)?.salt ?? fresh;
    },
    endErasure: (at, entry, owner) => {
      write(at, entry);
      if (owner !== null) forgetSalt.run(owner);
    },
  };
}

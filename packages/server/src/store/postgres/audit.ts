import type { AuditEntry } from "../../core/audit.ts";
import type { AuditStore } from "../../core/ports/driven/store.ts";
import { AUDIT, AUDIT_CONDITION, auditRow, type AuditRow, toAudit } from "../audit-rows.ts";
import { prepareInsert } from "./bulk.ts";
import type { Calls } from "./calls.ts";
import type { Connection } from "./connections.ts";
import { prepare, type Value } from "./statement.ts";

export const insertAudit = prepareInsert("audit", AUDIT, "(once) DO NOTHING");
// The types of parameters that are only compared with NULL must be named.
const CONDITION = AUDIT_CONDITION.replaceAll(/\?([1-4])/g, "$$$1::text")
  .replaceAll(/\?([567])/g, "$$$1::bigint")
  .replace("?8", "$8::text");
const list = prepare<Value[], AuditRow>(
  `SELECT ${Object.keys(AUDIT).join(", ")} FROM audit WHERE ${CONDITION} ORDER BY at DESC, id DESC LIMIT $9`,
);
const forget = prepare<[number, number]>(
  "DELETE FROM audit WHERE id IN (SELECT id FROM audit WHERE at < $1 LIMIT $2)",
);
const addSalt = prepare<[string, string], { readonly salt: string }>(
  `INSERT INTO audit_salts (owned_by, salt) VALUES ($1, $2)
   ON CONFLICT (owned_by) DO UPDATE SET owned_by = excluded.owned_by RETURNING salt`,
);
const forgetSalt = prepare<[string]>("DELETE FROM audit_salts WHERE owned_by = $1");

/** Writes an entry in the transaction of the connection; nothing for `null`. */
export async function writeAudit(
  connection: Connection,
  at: number,
  entry: AuditEntry | null,
): Promise<void> {
  if (entry !== null) await insertAudit([auditRow(at, entry)])(connection);
}

export function auditOf(calls: Calls): AuditStore {
  return {
    add: (entry) => calls.alone("audit", (connection, at) => writeAudit(connection, at, entry)),
    list: ({ action, actor, app, target, from, to, after, limit }) =>
      calls.look("audit", async (connection) => {
        const [afterAt, afterId] = [after?.at ?? null, after?.id ?? null];
        const rows = await list.all(
          connection,
          action,
          actor,
          app,
          target,
          from,
          to,
          afterAt,
          afterId,
          limit,
        );
        return rows.map(toAudit);
      }),
    forget: (before, limit) => calls.alone("audit", (connection) => forget.run(connection, before, limit)),
    saltOf: (owner, fresh) =>
      calls.alone(
        "audit",
        async (connection) => (await addSalt.get(connection, owner, fresh))?.salt ?? fresh,
      ),
    endErasure: (entry, owner) =>
      calls.alone("audit", async (connection, at) => {
        await writeAudit(connection, at, entry);
        if (owner !== null) await forgetSalt.run(connection, owner);
      }),
  };
}

// Audits in the database which process wrote each row: triggers (write-audit.sql) record it in the writing
// transaction. An epoch belongs to the process that took it, so a write by another process under this epoch
// is an accepted stale write.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { PostgresDatabases } from "../../test/postgres-server.ts";
import { VIOLATION_KINDS, type ViolationKind, type Violations } from "../violations.ts";

const FOREIGN_WRITES = `
  SELECT session_key, epoch, w.writer, coalesce(e.writer, 'nobody') AS taker, string_agg(source, ', ' ORDER BY source) AS sources
  FROM torture_writes w LEFT JOIN torture_epochs e USING (session_key, epoch)
  WHERE w.writer IS DISTINCT FROM e.writer GROUP BY session_key, epoch, w.writer, e.writer LIMIT 20
`;
const FOUND = "SELECT kind, session_key, about, detail FROM torture_found LIMIT 20";
const NOTED = `
  SELECT source, count(w.source) AS count
  FROM unnest(ARRAY['steps', 'checkpoints', 'messages', 'turns']) AS source LEFT JOIN torture_writes w USING (source) GROUP BY source
`;

export async function installAudit(postgres: PostgresDatabases, database: string): Promise<void> {
  await postgres.query(database, readFileSync(join(import.meta.dirname, "write-audit.sql"), "utf8"));
}

/** Adds a violation for each forbidden write. */
export async function checkWrites(
  postgres: PostgresDatabases,
  database: string,
  violations: Violations,
): Promise<void> {
  for (const { kind, session_key: key, about, detail } of await postgres.query(database, FOUND)) {
    violations.add(kindOf(String(kind)), `session ${String(key)}`, String(about), String(detail));
  }
  for (const row of await postgres.query(database, FOREIGN_WRITES)) {
    const { session_key: key, epoch, writer, taker, sources } = row;
    const detail = `of ${String(taker)}; ${String(writer)} has written ${String(sources)} under it`;
    violations.add("old epoch", `session ${String(key)}`, `epoch ${String(epoch)}`, detail);
  }
}

/**
 * Like `checkWrites`, at the end of a run. Returns the number of recorded writes per table. A table without
 * writes is a violation, because nothing of it is verified.
 */
export async function checkAudit(
  postgres: PostgresDatabases,
  database: string,
  violations: Violations,
): Promise<Readonly<Record<string, number>>> {
  await checkWrites(postgres, database, violations);
  const noted = await postgres.query(database, NOTED);
  for (const { source, count } of noted) {
    if (Number(count) > 0) continue;
    violations.add("old epoch", "none", `audit of ${String(source)}`, "nothing was recorded");
  }
  return Object.fromEntries(noted.map(({ source, count }) => [String(source), Number(count)]));
}

function kindOf(kind: string): ViolationKind {
  const known = VIOLATION_KINDS.find((one) => one === kind);
  if (known === undefined) throw new Error(`The audit reports an unknown kind of violation: ${kind}`);
  return known;
}

// Brings a database to the schema that this version of the program knows. Migrations expand first and contract a version later, so that a
// node of the version before goes on working beside this one (architecture, rule 8).

import { setTimeout as sleep } from "node:timers/promises";
import { DatabaseError, type QueryConfig } from "pg";
import { refuseNewerSchema, type Migration } from "../migrations.ts";
import type { Connection, Connections } from "./connections.ts";

/** Whoever migrates holds this lock: any number that nobody else uses in the database. */
const LOCK = 7_236_501_914;

/** Milliseconds that a migration may take, and that the others wait for it. */
const PATIENCE_MS = 60 * 60 * 1000;

/** Milliseconds that it waits for a table at a time, and between two times. */
const WAIT_MS = 1000;
const PAUSE_MS = 1000;
const LOCK_NOT_AVAILABLE = "55P03";

/**
 * Runs the migrations that the database has not seen, each in a transaction of its own; of several nodes that start at the same time, one
 * at a time. Rejects, with a sentence for the person who started the process, when the database is more than one version newer than the
 * newest migration here.
 */
export async function migrate(connections: Connections, migrations: readonly Migration[]): Promise<void> {
  await inTurn(connections, async (connection) => {
    await connection.query(
      `CREATE TABLE IF NOT EXISTS schema_migrations
         (version integer PRIMARY KEY, name text NOT NULL, applied_at bigint NOT NULL)`,
    );
    refuseNewerSchema(await currentVersion(connection), migrations);
  });
  for (const migration of migrations) await applyWhenFree(connections, migration);
}

/**
 * Whoever waits for a table that somebody reads, a backup for example, makes all who come later wait behind it. So a migration gives up
 * after a second and begins anew after a pause, in which the others have their turn.
 */
async function applyWhenFree(connections: Connections, migration: Migration): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      return await inTurn(connections, (connection) => apply(connection, migration));
    } catch (error) {
      const isTaken = error instanceof DatabaseError && error.code === LOCK_NOT_AVAILABLE;
      if (!isTaken || performance.now() > deadline) throw error;
      await sleep(PAUSE_MS);
    }
  }
}

async function inTurn(
  connections: Connections,
  work: (connection: Connection) => Promise<void>,
): Promise<void> {
  await connections.use(async (connection) => {
    await connection.query("BEGIN; SET LOCAL lock_timeout = 0; SET LOCAL statement_timeout = 0");
    await patiently(connection, `SELECT pg_advisory_xact_lock(${LOCK})`);
    await work(connection);
    await connection.query("COMMIT");
  });
}

async function apply(connection: Connection, { version, name, sql }: Migration): Promise<void> {
  if ((await currentVersion(connection)) >= version) return;
  await connection.query(`SET LOCAL lock_timeout = ${WAIT_MS}`);
  await patiently(connection, sql);
  await connection.query(
    `INSERT INTO schema_migrations (version, name, applied_at)
     VALUES ($1, $2, floor(extract(epoch FROM now()) * 1000)::bigint)`,
    [version, name],
  );
}

async function patiently(connection: Connection, text: string): Promise<void> {
  const query: QueryConfig & { readonly query_timeout: number } = { text, query_timeout: PATIENCE_MS };
  await connection.query(query);
}

async function currentVersion(connection: Connection): Promise<number> {
  const { rows } = await connection.query<{ readonly version: number | null }>(
    "SELECT max(version) AS version FROM schema_migrations",
  );
  return rows[0]?.version ?? 0;
}

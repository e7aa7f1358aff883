// Brings a database to the schema that this version of the program knows. Migrations expand first and contract a version later, so that a
// node of the version before goes on working beside this one (architecture, rule 8).

import { setTimeout as sleep } from "node:timers/promises";
import { DatabaseError, type QueryConfig } from "pg";
import { refuseNewerSchema, type Migration } from "../migrations.ts";
import type { Connection, Connections } from "./connections.ts";

/** Whoever migrates holds this lock: any number that nobody else uses in the database. */
const LOCK = 7_236_501_914;

/** Milliseconds that a statement of a migration may take, that one waits for its tables, and that the others wait for it. */
const PATIENCE_MS = 60 * 60 * 1000;

/** Milliseconds that it waits for a table at a time: less than what PostgreSQL looks for deadlocks after, so that it is who gives way. */
const WAIT_MS = 500;
/** Milliseconds between two such times, and between two looks whether somebody else still migrates. */
const PAUSE_MS = 1000;
const LOOK_MS = 100;

/** `lock_not_available`, `deadlock_detected`. */
const TAKEN: ReadonlySet<string | undefined> = new Set(["55P03", "40P01"]);

/**
 * Runs the migrations that the database has not seen, each in a transaction of its own, and then builds its concurrent indexes; of several
 * nodes that start at the same time, one at a time. Where that is broken off, the next call goes on where it was. Rejects, with a sentence
 * for the person who started the process, when the database is more than one version newer than the newest migration here.
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
 * soon and begins anew after a pause, in which the others have their turn.
 */
async function applyWhenFree(connections: Connections, migration: Migration): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      return await inTurn(connections, (connection) => apply(connection, migration));
    } catch (error) {
      const isTaken = error instanceof DatabaseError && TAKEN.has(error.code);
      if (!isTaken || performance.now() > deadline) throw error;
      await sleep(PAUSE_MS);
    }
  }
}

/**
 * The lock is the connection's: a server goes on building an index whose process is gone, and nobody else begins meanwhile. It is looked for
 * between statements and not waited for in one, because an index is built when every statement that began before it has ended.
 */
async function inTurn(
  connections: Connections,
  work: (connection: Connection) => Promise<void>,
): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  await connections.use(async (connection) => {
    while (!(await takeLock(connection))) {
      if (performance.now() > deadline)
        throw new Error("Another process has been migrating the database for an hour");
      await sleep(LOOK_MS);
    }
    await connection.query("SET lock_timeout = 0; SET statement_timeout = 0");
    await work(connection);
    await connection.query(`RESET lock_timeout; RESET statement_timeout; SELECT pg_advisory_unlock(${LOCK})`);
  });
}

async function takeLock(connection: Connection): Promise<boolean> {
  const { rows } = await connection.query<{ readonly taken: boolean }>(
    `SELECT pg_try_advisory_lock(${LOCK}) AS taken`,
  );
  return rows[0]?.taken === true;
}

/** The next migration begins when the indexes of this one are built: those of older ones need no look. */
async function apply(connection: Connection, migration: Migration): Promise<void> {
  const current = await currentVersion(connection);
  if (current > migration.version) return;
  const { transaction, indexes } = splitMigration(migration.sql);
  if (current < migration.version) await applyTransaction(connection, migration, transaction);
  for (const index of indexes) await build(connection, index);
}

async function applyTransaction(
  connection: Connection,
  { version, name }: Migration,
  sql: string,
): Promise<void> {
  await connection.query(`BEGIN; SET LOCAL lock_timeout = ${WAIT_MS}`);
  await patiently(connection, sql);
  await connection.query(
    `INSERT INTO schema_migrations (version, name, applied_at)
     VALUES ($1, $2, floor(extract(epoch FROM now()) * 1000)::bigint)`,
    [version, name],
  );
  await connection.query("COMMIT");
}

async function build(connection: Connection, { name, sql }: ConcurrentIndex): Promise<void> {
  const { rows } = await connection.query<{ readonly valid: boolean }>(
    "SELECT indisvalid AS valid FROM pg_index WHERE indexrelid = to_regclass($1)",
    [name],
  );
  const [index] = rows;
  if (index?.valid === true) return;
  // What a try that was broken off has left is written by everybody and read by nobody.
  if (index !== undefined) await patiently(connection, `DROP INDEX CONCURRENTLY ${name}`);
  await patiently(connection, sql);
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

interface ConcurrentIndex {
  readonly name: string;
  readonly sql: string;
}

/** A migration in two parts: what is one transaction, and the indexes that are built behind it. */
interface SplitMigration {
  readonly transaction: string;
  readonly indexes: readonly ConcurrentIndex[];
}

const CONCURRENTLY = /^CREATE (?:UNIQUE )?INDEX CONCURRENTLY (\w+) [^;]+;/gm;

/** Such a statement begins at the beginning of a line and has no semicolon within; any other one fails in the transaction. */
export function splitMigration(sql: string): SplitMigration {
  const indexes = Array.from(sql.matchAll(CONCURRENTLY), ([statement, name = ""]) => ({
    name,
    sql: statement,
  }));
  return { transaction: sql.replaceAll(CONCURRENTLY, ""), indexes };
}

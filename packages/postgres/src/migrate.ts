// Migrates a database to the schema of this version. Migrations expand first and contract a version later, so
// that nodes of the previous version keep working (architecture, rule 8).

import { setTimeout as sleep } from "node:timers/promises";
import { DatabaseError, type QueryConfig } from "pg";
import { refuseNewerSchema, type Migration } from "@colloquy/engine/internal/store/migrations";
import type { Connection, Connections } from "./connections.ts";

/** Key of the advisory lock of migrations; an arbitrary number that nothing else uses in the database. */
const LOCK = 7_236_501_914;

/**
 * Maximum milliseconds for a statement of a migration, for its table locks, and for other migrating
 * processes.
 */
const TIMEOUT_MS = 60 * 60 * 1000;

/**
 * Lock timeout of a migration in milliseconds: shorter than `deadlock_timeout`, so that a deadlock aborts the
 * migration and not a query.
 */
const LOCK_TIMEOUT_MS = 500;
/** Milliseconds before a migration is attempted again. */
const RETRY_AFTER_MS = 1000;
const POLL_MS = 100;

/** SQLSTATEs of lock contention: `lock_not_available`, `deadlock_detected`. */
const LOCK_CONTENTION: ReadonlySet<string | undefined> = new Set(["55P03", "40P01"]);

/**
 * Runs the missing migrations, each in its own transaction, and then builds the concurrent indexes of each.
 * One process migrates at a time, and a later call resumes after a crash. Rejects with an error for the
 * user if the database is more than one version ahead of `migrations`.
 */
export async function migrate(connections: Connections, migrations: readonly Migration[]): Promise<void> {
  await withMigrationLock(connections, async (connection) => {
    await refuseForeignTables(connection, migrations);
    await connection.query(
      `CREATE TABLE IF NOT EXISTS schema_migrations
         (version integer PRIMARY KEY, name text NOT NULL, applied_at bigint NOT NULL)`,
    );
    refuseNewerSchema(await currentVersion(connection), migrations);
  });
  for (const migration of migrations) await applyWhenFree(connections, migration);
}

/**
 * Rejects with a user-facing message if tables of another application have the names of ours: a
 * `schema_migrations` with other columns, or any of our tables before the first migration.
 */
export async function refuseForeignTables(
  connection: Connection,
  migrations: readonly Migration[],
): Promise<void> {
  if ((await existing(connection, ["schema_migrations"])).length > 0) {
    const { rows } = await connection.query(
      `SELECT FROM pg_attribute WHERE attrelid = 'schema_migrations'::regclass
       AND attname IN ('version', 'name', 'applied_at') AND NOT attisdropped`,
    );
    if (rows.length < 3) throw foreign("schema_migrations");
    if ((await currentVersion(connection)) > 0) return;
  }
  const tables = (migrations[0]?.sql ?? "").matchAll(/^CREATE TABLE (\w+)/gm);
  const [table] = await existing(
    connection,
    Array.from(tables, ([, name = ""]) => name),
  );
  if (table !== undefined) throw foreign(table);
}

/** Returns those of the names that tables or views have in the schema where tables are created. */
async function existing(connection: Connection, names: readonly string[]): Promise<readonly string[]> {
  const { rows } = await connection.query<{ readonly name: string }>(
    `SELECT relname::text AS name FROM pg_class
     WHERE relname = ANY($1) AND relnamespace = to_regnamespace(current_schema()::text) ORDER BY relname`,
    [names],
  );
  return rows.map(({ name }) => name);
}

function foreign(table: string): Error {
  return new Error(
    `The database has a table ${table} of another application. ` +
      "Give Colloquy a database of its own (CREATE DATABASE colloquy), and name it in COLLOQUY_DATABASE_URL.",
  );
}

/**
 * Applies a migration with a short lock timeout and retries. A migration that waited for a table lock, for
 * example during a backup, would block all later statements on the table.
 */
async function applyWhenFree(connections: Connections, migration: Migration): Promise<void> {
  const deadline = performance.now() + TIMEOUT_MS;
  for (;;) {
    try {
      return await withMigrationLock(connections, (connection) => apply(connection, migration));
    } catch (error) {
      const isContended = error instanceof DatabaseError && LOCK_CONTENTION.has(error.code);
      if (!isContended || performance.now() > deadline) throw error;
      await sleep(RETRY_AFTER_MS);
    }
  }
}

/**
 * Runs `work` with the migration lock. The connection owns the lock: the server may still build an index for
 * a dead process, and no other process may start before it ends. The lock is polled, because CREATE INDEX
 * CONCURRENTLY waits for every earlier statement, even one that waits for this lock.
 */
async function withMigrationLock(
  connections: Connections,
  work: (connection: Connection) => Promise<void>,
): Promise<void> {
  const deadline = performance.now() + TIMEOUT_MS;
  await connections.use(async (connection) => {
    while (!(await takeLock(connection))) {
      if (performance.now() > deadline)
        throw new Error("Another process has been migrating the database for an hour");
      await sleep(POLL_MS);
    }
    const { rows } = await connection.query<{ readonly lock: string; readonly statement: string }>(
      "SELECT current_setting('lock_timeout') AS lock, current_setting('statement_timeout') AS statement",
    );
    await connection.query("SET lock_timeout = 0; SET statement_timeout = 0");
    await work(connection);
    await connection.query(
      `SELECT set_config('lock_timeout', $1, false), set_config('statement_timeout', $2, false),
         pg_advisory_unlock(${LOCK})`,
      [rows[0]?.lock, rows[0]?.statement],
    );
  });
}

async function takeLock(connection: Connection): Promise<boolean> {
  const { rows } = await connection.query<{ readonly taken: boolean }>(
    `SELECT pg_try_advisory_lock(${LOCK}) AS taken`,
  );
  return rows[0]?.taken === true;
}

/**
 * Applies a migration. The indexes of the previous migration are complete, so older indexes need no check.
 */
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
  await connection.query(`BEGIN; SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}`);
  await queryWithTimeout(connection, sql);
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
  // An interrupted build leaves an invalid index, which costs writes and serves no reads.
  if (index !== undefined) await queryWithTimeout(connection, `DROP INDEX CONCURRENTLY ${name}`);
  await queryWithTimeout(connection, sql);
}

async function queryWithTimeout(connection: Connection, text: string): Promise<void> {
  const query: QueryConfig & { readonly query_timeout: number } = { text, query_timeout: TIMEOUT_MS };
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

/**
 * A migration in two parts: one transaction, and the indexes that are built after it while the table stays in
 * use. Each index is a statement outside a transaction, because PostgreSQL builds it in several of its own.
 */
interface SplitMigration {
  readonly transaction: string;
  readonly indexes: readonly ConcurrentIndex[];
}

const CONCURRENTLY = /^CREATE (?:UNIQUE )?INDEX CONCURRENTLY (\w+) [^;]+;/gm;

/**
 * Splits a migration. The statement of a concurrent index must start a line and contain no semicolon;
 * otherwise it fails inside the transaction.
 */
export function splitMigration(sql: string): SplitMigration {
  const indexes = Array.from(sql.matchAll(CONCURRENTLY), ([statement, name = ""]) => ({
    name,
    sql: statement,
  }));
  return { transaction: sql.replaceAll(CONCURRENTLY, ""), indexes };
}

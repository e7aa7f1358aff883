// Opens the database file and brings it to this version's schema.

import { statSync } from "node:fs";
import { join } from "node:path";
import type { SQLInputValue } from "node:sqlite";
import type { Work } from "../shared.ts";
import { type Migration, readMigrations, refuseNewerSchema } from "../migrations.ts";
import { DatabaseSync } from "./node-sqlite.ts";
import { createPrivateFile } from "./private-files.ts";

/** Milliseconds that a statement waits for the transaction of another process, such as an administration command. */
export const BUSY_TIMEOUT_MS = 5000;

/**
 * FULL syncs the log in every commit, so that an acknowledged write is durable. `secure_delete` overwrites
 * deleted text with zeros.
 */
const SETTINGS = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  PRAGMA secure_delete = ON;
  PRAGMA cache_size = -16384;
  PRAGMA temp_store = MEMORY;
`;

export const DATABASE_FILE = "colloquy.db";
const MASTER_KEY_FILE = "secret.key";

/**
 * Opens the database and migrates it. `directory` is `null` for a database in memory; `at` is the recorded
 * time of new migrations.
 */
export function openDatabase(directory: string | null, at: number): DatabaseSync {
  if (directory !== null) refuseEmptied(directory);
  const database = connect(directory);
  try {
    migrate(database, readMigrations(join(import.meta.dirname, "migrations")), at);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/**
 * Throws with a user-facing message if the database is missing or empty, although its directory was in use:
 * it has a master key, or a log, which SQLite would discard.
 */
export function refuseEmptied(directory: string): void {
  const path = join(directory, DATABASE_FILE);
  const size = sizeOf(path);
  if (size !== null && size > 0) return;
  const sign =
    (sizeOf(`${path}-wal`) ?? 0) > 0
      ? `${DATABASE_FILE}-wal`
      : size !== null && sizeOf(join(directory, MASTER_KEY_FILE)) !== null
        ? MASTER_KEY_FILE
        : null;
  if (sign === null) return;
  throw new Error(
    `The database ${path} is ${size === null ? "missing" : "empty (0 bytes)"}, but ${sign} beside it belongs to an existing installation. ` +
      "Restore a backup (docs/operations.md). To start without the old data, move the files of the directory away.",
  );
}

/** Returns `null` if there is no such file. */
function sizeOf(path: string): number | null {
  return statSync(path, { throwIfNoEntry: false })?.size ?? null;
}

/** Opens the database without migrating it; creates it if it does not exist. */
export function connect(directory: string | null): DatabaseSync {
  const path = directory === null ? ":memory:" : join(directory, DATABASE_FILE);
  // SQLite gives the log and its index the permissions of the database.
  if (directory !== null) createPrivateFile(path);
  const database = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS, enableForeignKeyConstraints: false });
  try {
    database.exec(SETTINGS);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** A prepared statement, typed where its text is written. */
export interface Statement<Parameters extends readonly SQLInputValue[], Row = never> {
  get(...parameters: Parameters): Row | undefined;
  all(...parameters: Parameters): Row[];
  iterate(...parameters: Parameters): Iterable<Row>;
  /** Runs the statement and returns the number of changed rows. */
  run(...parameters: Parameters): number;
}

/** Prepares a statement in one database. */
export type Prepare = <Parameters extends readonly SQLInputValue[], Row = never>(
  sql: string,
) => Statement<Parameters, Row>;

/**
 * SQLite compiles a statement again whenever a parameter of its LIMIT is bound, because the planner uses the value
 * (SQLITE_DBCONFIG_ENABLE_QPSG). That takes up to 100 times as long as a lookup. A sum hides the parameter.
 */
const LIMIT_PARAMETER = /\b(LIMIT|OFFSET) (\?\d*)/g;

export function prepareIn(database: DatabaseSync): Prepare {
  return <Parameters extends readonly SQLInputValue[], Row>(sql: string): Statement<Parameters, Row> => {
    const statement = database.prepare(sql.replaceAll(LIMIT_PARAMETER, "$1 $2 + 0"));
    return {
      get: (...parameters) => statement.get(...parameters) as Row | undefined,
      all: (...parameters) => statement.all(...parameters) as Row[],
      iterate: (...parameters) => statement.iterate(...parameters) as Iterable<unknown> as Iterable<Row>,
      run: (...parameters) => Number(statement.run(...parameters).changes),
    };
  };
}

/** Runs work that is written for both databases, in the current transaction. */
export type RunWork = <Result>(work: Work<Result>) => Result;

export function prepareWork(prepare: Prepare): RunWork {
  const statements = new Map<string, Statement<SQLInputValue[], unknown>>();
  return (work) => {
    let step = work.next();
    while (step.done !== true) {
      const { sqlite, parameters, wants } = step.value;
      const statement = statements.get(sqlite) ?? prepare<SQLInputValue[], unknown>(sqlite);
      statements.set(sqlite, statement);
      const cells = parameters.map((value) =>
        typeof value === "object" && value !== null ? JSON.stringify(value) : value,
      );
      step = work.next(wants === "rows" ? statement.all(...cells) : statement.run(...cells));
    }
    return step.value;
  };
}

/**
 * Runs the missing migrations, each in its own transaction. Throws an error for the user if the
 * database is more than one version ahead of `migrations`.
 */
export function migrate(database: DatabaseSync, migrations: readonly Migration[], at: number): void {
  database.exec(
    "CREATE TABLE IF NOT EXISTS schema_migrations " +
      "(version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT",
  );
  refuseNewerSchema(currentVersion(database), migrations);
  for (const migration of migrations) apply(database, migration, at);
}

function apply(database: DatabaseSync, migration: Migration, at: number): void {
  if (currentVersion(database) >= migration.version) return;
  database.exec("BEGIN IMMEDIATE");
  try {
    // Another process may have applied it in the meantime.
    if (currentVersion(database) < migration.version) {
      database.exec(migration.sql);
      database
        .prepare("INSERT INTO schema_migrations (version, name, applied_at) VALUES (?, ?, ?)")
        .run(migration.version, migration.name, at);
    }
    database.exec("COMMIT");
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK");
    throw error;
  }
}

function currentVersion(database: DatabaseSync): number {
  const row = database.prepare("SELECT max(version) AS version FROM schema_migrations").get();
  return Number(row?.["version"] ?? 0);
}

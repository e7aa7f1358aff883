// Brings a database to the schema that this version of the program knows. Migrations expand first and contract a version
// later, so a database that is one version ahead can still be worked with (architecture, rule 8).

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";

export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly sql: string;
}

/** The numbered `.sql` files of a folder, in order. Throws when a number is missing or used twice. */
export function readMigrations(folder: string): readonly Migration[] {
  const files = readdirSync(folder)
    .filter((file) => file.endsWith(".sql"))
    .toSorted();
  return files.map((file, index) => {
    const version = Number(/^(\d{4})_[a-z0-9_]+\.sql$/.exec(file)?.[1]);
    if (version !== index + 1) throw new Error(`${join(folder, file)} should begin with number ${index + 1}`);
    return { version, name: file, sql: readFileSync(join(folder, file), "utf8") };
  });
}

/**
 * Runs the migrations that the database has not seen, each in a transaction of its own. Throws, with a sentence for the person who
 * started the process, when the database is more than one version newer than the newest migration here.
 */
export function migrate(database: DatabaseSync, migrations: readonly Migration[], at: number): void {
  database.exec(
    "CREATE TABLE IF NOT EXISTS schema_migrations " +
      "(version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT",
  );
  const newestKnown = migrations.at(-1)?.version ?? 0;
  const found = currentVersion(database);
  if (found > newestKnown + 1) {
    throw new Error(
      `The database has schema version ${found}, but this version of Colloquy knows versions up to ${newestKnown}. ` +
        "Start a newer Colloquy on it, or restore a backup from before the upgrade.",
    );
  }
  for (const migration of migrations) apply(database, migration, at);
}

function apply(database: DatabaseSync, migration: Migration, at: number): void {
  if (currentVersion(database) >= migration.version) return;
  database.exec("BEGIN IMMEDIATE");
  try {
    // Another process may have been faster.
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

// Migrates a database to the schema of this version. Migrations expand first and contract a version later, so a database that is one version
// ahead still works (architecture, rule 8).

import type { DatabaseSync } from "node:sqlite";
import { refuseNewerSchema, type Migration } from "../migrations.ts";

/**
 * Runs the missing migrations, each in its own transaction. Throws with a user-facing message if the schema
 * is more than one version newer than the newest migration here.
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

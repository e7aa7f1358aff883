// Describes a database for operators. Changes nothing, and works on an empty database.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { readMigrations, type SchemaState } from "../migrations.ts";
import { countByKey } from "../secrets.ts";
import { DATABASE_FILE, prepareIn, prepareWork } from "./database.ts";
import { lockFile } from "./lock.ts";

export interface SqliteInspection extends SchemaState {
  readonly isServed: boolean;
  /** Number of sealed secrets by the id of their master key. */
  readonly secretsByKey: Readonly<Record<string, number>>;
}

/** Returns `null` if there is no database yet. Throws SQLite's error if it cannot be read. */
export function inspectSqlite(directory: string): SqliteInspection | null {
  const path = join(directory, DATABASE_FILE);
  if (!existsSync(path)) return null;
  const migrations = readMigrations(join(import.meta.dirname, "migrations"));
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    const prepare = prepareIn(database);
    const has = prepare<[string]>("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?");
    const version =
      has.get("schema_migrations") === undefined
        ? 0
        : prepare<[], { readonly version: number | null }>(
            "SELECT max(version) AS version FROM schema_migrations",
          ).get()?.version;
    return {
      schemaVersion: version ?? 0,
      migrations,
      isServed: isServed(directory),
      secretsByKey: has.get("secrets") === undefined ? {} : prepareWork(prepare)(countByKey()),
    };
  } finally {
    database.close();
  }
}

/** Returns true if a server, or a chat command with its own server, uses the directory now. */
export function isServed(directory: string): boolean {
  const path = join(directory, "server.lock");
  if (!existsSync(path)) return false;
  const lock = lockFile(path);
  lock?.release();
  return lock === null;
}

// Opens the database file and brings it to this version's schema.

import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { readMigrations } from "../migrations.ts";
import { migrate } from "./migrate.ts";
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

/**
 * Opens the database and migrates it. `directory` is `null` for a database in memory; `at` is the recorded
 * time of new migrations.
 */
export function openDatabase(directory: string | null, at: number): DatabaseSync {
  const database = connect(directory);
  try {
    migrate(database, readMigrations(join(import.meta.dirname, "migrations")), at);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
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

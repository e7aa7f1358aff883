// Opens the database file and brings it to this version's schema.

import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { readMigrations } from "../migrations.ts";
import { migrate } from "./migrate.ts";
import { createPrivateFile } from "./private-files.ts";

/** Milliseconds that a statement waits for another process, such as an administrating command, to finish its transaction. */
export const BUSY_TIMEOUT_MS = 5000;

/** FULL syncs the log in every commit: acknowledged means durable. What is deleted is overwritten with zeros in its pages. */
const SETTINGS = `
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  PRAGMA secure_delete = ON;
  PRAGMA cache_size = -16384;
  PRAGMA temp_store = MEMORY;
`;

export const DATABASE_FILE = "colloquy.db";

/** `directory` is `null` for a database in memory; `at` is the time that new migrations are recorded with. */
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

/** The database as it is, made when absent. */
export function connect(directory: string | null): DatabaseSync {
  const path = directory === null ? ":memory:" : join(directory, DATABASE_FILE);
  // SQLite gives the log and its index the rights of the database.
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

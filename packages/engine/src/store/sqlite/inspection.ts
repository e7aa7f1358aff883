// Describes a database for operators. Changes nothing, and works on an empty database.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "./node-sqlite.ts";
import { inspect, type Inspection } from "../inspection.ts";
import { DATABASE_FILE, prepareIn, prepareWork, refuseEmptied } from "./database.ts";
import { lockFile } from "./lock.ts";

export interface SqliteInspection extends Inspection {
  readonly isServed: boolean;
}

/** Returns `null` if there is no database yet. Throws SQLite's error if it cannot be read. */
export function inspectSqlite(directory: string): SqliteInspection | null {
  const path = join(directory, DATABASE_FILE);
  refuseEmptied(directory);
  if (!existsSync(path)) return null;
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    const found = prepareWork(prepareIn(database))(inspect(join(import.meta.dirname, "migrations")));
    return { ...found, isServed: isServed(directory) };
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

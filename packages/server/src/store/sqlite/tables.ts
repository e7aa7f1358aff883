// Opens a database as its tables, for moving data between stores. Works on the calling thread, which has
// nothing else to do.

import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import type {
  TableAccess,
  TableReader,
  TableStore,
  TableWriter,
} from "../../core/ports/driven/table-store.ts";
import { createDirectory, hasDatabase, inDirectory } from "./data-directory.ts";
import { isMoveUnfinished } from "../table-rows.ts";
import { connect, openDatabase, prepareIn, prepareWork } from "./database.ts";
import { lockFile } from "./lock.ts";
import { prepareTables, tablesOf } from "./table-rows.ts";

export interface SqliteTablesOptions {
  /** Absolute path of the data directory. */
  readonly directory: string;
  readonly access: TableAccess;
  /** Time to record for new migrations, in milliseconds since the Unix epoch. */
  readonly at: number;
}

/**
 * Migrates the database of a data directory, runs `work` on it, and closes it. Rejects with a user-facing
 * message if there is no database, or if a server uses it and `access` forbids that.
 */
export async function withSqliteTables<Result>(
  { directory, access, at }: SqliteTablesOptions,
  work: (store: TableStore) => Promise<Result>,
): Promise<Result> {
  if (access === "target") inDirectory(directory, () => createDirectory(directory));
  else if (!hasDatabase(directory)) {
    throw new Error(`There is no database of Colloquy in ${directory}. Name the data directory of a server.`);
  }
  const lock = access === "beside" ? null : inDirectory(directory, () => lockServers(directory));
  try {
    const database = inDirectory(directory, () => open(directory, access, at));
    try {
      return await work(storeOf(database, directory, access));
    } finally {
      database.close();
    }
  } finally {
    lock?.release();
  }
}

/** Keeps servers from starting until the lock is released. */
function lockServers(directory: string): { release(): void } {
  const lock = lockFile(join(directory, "server.lock"));
  if (lock !== null) return lock;
  throw new Error(`The data directory ${directory} is in use by a Colloquy server. Stop it first.`);
}

function open(directory: string, access: TableAccess, at: number): DatabaseSync {
  if (access === "target") {
    const database = connect(directory);
    if (prepareWork(prepareIn(database))(isMoveUnfinished())) return database;
    database.close();
  }
  return openDatabase(directory, at);
}

function storeOf(database: DatabaseSync, directory: string, access: TableAccess): TableStore {
  const tables = tablesOf(prepareIn(database));
  const rows: TableWriter = prepareTables(database);
  const inTransaction = async <Result>(begin: string, work: () => Promise<Result>): Promise<Result> => {
    database.exec(begin);
    try {
      const result = await work();
      database.exec("COMMIT");
      return result;
    } catch (error) {
      if (database.isTransaction) database.exec("ROLLBACK");
      throw error;
    }
  };
  return {
    place: `sqlite:${directory}`,
    tables,
    read: <Result>(work: (reader: TableReader) => Promise<Result>) =>
      // IMMEDIATE excludes the commands that write beside a server.
      inTransaction(access === "source" ? "BEGIN IMMEDIATE" : "BEGIN", () => work(rows)),
    change: <Result>(work: (writer: TableWriter) => Promise<Result>) =>
      inTransaction("BEGIN IMMEDIATE", () => work(rows)),
    // The lock was taken before the database was opened, so no server uses it.
    refuseServed: () => Promise.resolve(),
    tidy: async () => {
      database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
      await Promise.resolve();
    },
  };
}

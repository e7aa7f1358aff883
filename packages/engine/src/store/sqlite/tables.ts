// Table access for commands that move data between stores. Blocks the calling thread.

import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import type {
  Column,
  Extract,
  Table,
  TableAccess,
  TableReader,
  TableRow,
  TableStore,
  TableWriter,
} from "../../core/ports/driven/table-store.ts";
import { isMoveUnfinished, partOf, quoted, tableWriter } from "../table-rows.ts";
import { createDirectory, hasDatabase, inDirectory } from "./data-directory.ts";
import { connect, openDatabase, type Prepare, prepareIn, prepareWork } from "./database.ts";
import { lockFile } from "./lock.ts";

/** Bookkeeping of the database itself, and the search index, which the target rebuilds from the messages. */
const NOT_MOVED: ReadonlySet<string> = new Set([
  "schema_migrations",
  "sequences",
  "moves",
  "search_jobs",
  "search_documents",
]);

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
    throw new Error(`There is no Colloquy database in ${directory}. Name the data directory of a server.`);
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

/** Prevents servers from starting until the lock is released. Throws a user-facing Error if a server is running. */
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
    // `lockServers` has already excluded servers.
    refuseServed: () => Promise.resolve(),
    tidy: async () => {
      database.exec("PRAGMA wal_checkpoint(TRUNCATE)");
      await Promise.resolve();
    },
  };
}

/** Returns the tables with columns and keys, by name. */
function tablesOf(prepare: Prepare): readonly Table[] {
  const tables = prepare<[], { readonly name: string }>(
    "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~' ORDER BY name",
  );
  const columns = prepare<
    [string],
    { readonly name: string; readonly type: string; readonly notnull: number; readonly pk: number }
  >(`SELECT name, type, "notnull", pk FROM pragma_table_info(?) ORDER BY cid`);
  return tables
    .all()
    .filter(({ name }) => !NOT_MOVED.has(name))
    .map(({ name }) => {
      const found = columns.all(name);
      return {
        name,
        columns: found.map((column): Column => {
          // The pragma reports an INTEGER PRIMARY KEY as nullable, but it cannot contain NULL.
          const isOptional = column.notnull === 0 && column.pk === 0;
          return { name: column.name, kind: kindOf(name, column.name, column.type), isOptional };
        }),
        key: found
          .filter(({ pk }) => pk > 0)
          .toSorted((left, right) => left.pk - right.pk)
          .map((column) => column.name),
      };
    });
}

function kindOf(table: string, column: string, type: string): Column["kind"] {
  if (type === "INTEGER") return "number";
  if (type === "TEXT") return "text";
  throw new Error(`The column ${column} of the table ${table} has the type ${type}, which cannot be moved`);
}

/** Returns access to the rows of tables. All methods must be called in a transaction. */
function prepareTables(database: DatabaseSync): TableWriter {
  const run = prepareWork(prepareIn(database));
  return tableWriter((work) => Promise.resolve(run(work)), {
    extract: (table, part) => Promise.resolve(extract(database, table, part)),
    async insert(table, rows) {
      const names = table.columns.map(({ name }) => quoted(name));
      const values = names.map(() => "?").join(", ");
      const insert = database.prepare(
        `INSERT INTO ${quoted(table.name)} (${names.join(", ")}) VALUES (${values})`,
      );
      for (const row of rows) insert.run(...row);
      await Promise.resolve();
    },
  });
}

function extract(database: DatabaseSync, table: Table, part: Extract): TableRow[] {
  const { columns, rows, values } = partOf(table, part);
  const statement = database.prepare(`SELECT ${columns} FROM ${rows}`.replaceAll("$", "?"));
  statement.setReturnArrays(true);
  const found: TableRow[] = [];
  let length = 0;
  for (const row of statement.iterate(...values)) {
    const cells = row as unknown as TableRow;
    found.push(cells);
    for (const cell of cells) length += typeof cell === "string" ? cell.length : 8;
    if (found.length >= part.rows || length >= part.characters) break;
  }
  return found;
}

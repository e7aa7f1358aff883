// Table access for commands that move data between stores.

import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { ColumnType } from "@colloquy/engine/internal/core/field";
import type {
  Column,
  Extract,
  Table,
  TableAccess,
  TableReader,
  TableRow,
  TableStore,
  TableWriter,
} from "@colloquy/engine/internal/core/ports/driven/table-store";
import { readMigrations } from "@colloquy/engine/internal/store/migrations";
import { isMoveUnfinished, partOf, quoted, tableWriter } from "@colloquy/engine/internal/store/table-rows";
import { prepareInsert, type WriteRows } from "./bulk.ts";
import { commit } from "./commit.ts";
import { type Connection, Connections } from "./connections.ts";
import { connectionLost } from "./failures.ts";
import { migrate } from "./migrate.ts";
import { checkServer } from "./server-check.ts";
import { checkSessions } from "./session-check.ts";
import { prepare, runOn, send } from "./statement.ts";

/** Bookkeeping of the database itself, and the search index, which the target rebuilds from the messages. */
const NOT_MOVED = ["schema_migrations", "probes", "moves", "search_jobs", "search_documents"];

type TypedColumn = Column & { readonly type: ColumnType };

/** A table with the PostgreSQL types of its columns. */
interface TypedTable extends Table {
  readonly columns: readonly TypedColumn[];
}

const KINDS: Readonly<Record<ColumnType, Column["kind"]>> = {
  bigint: "number",
  integer: "number",
  smallint: "number",
  text: "text",
};

export interface PostgresTablesOptions {
  /** A PostgreSQL URL: `postgres://user:password@host:port/database`. */
  readonly url: string;
  readonly access: TableAccess;
}

/**
 * Key of the advisory lock of commands that move or replace data; an arbitrary number that nothing else uses
 * in the database.
 */
const LOCK = 7_236_501_915;

/** Statement timeout in milliseconds, for statements that count whole tables and build indexes. */
const PATIENCE_MS = 60 * 60 * 1000;

/** Maximum milliseconds until connections of a killed process are gone. */
const LEFT_MS = 5000;
const PAUSE_MS = 100;

const others = prepare<[], { readonly connections: number; readonly leases: number }>(
  `SELECT (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
             AND application_name LIKE 'colloquy%' AND pid <> pg_backend_pid()) AS connections,
     (SELECT count(*) FROM leases WHERE expires_at > extract(epoch FROM statement_timestamp()) * 1000) AS leases`,
);
const lockOut = prepare<[], { readonly locked: boolean }>(`SELECT pg_try_advisory_lock(${LOCK}) AS locked`);

/**
 * Migrates a database and runs `work` on it. Rejects with a user-facing message if the database cannot be
 * used (see `openPostgresStore`), or if a server uses it and `access` forbids that.
 */
export async function withPostgresTables<Result>(
  { url, access }: PostgresTablesOptions,
  work: (store: TableStore) => Promise<Result>,
): Promise<Result> {
  const connections = new Connections({ url, connections: 1, statementMs: PATIENCE_MS });
  try {
    await checkSessions(connections, { url });
    await checkServer(connections);
    const isGoingOn =
      access === "target" && (await connections.use((connection) => runOn(connection, isMoveUnfinished())));
    if (!isGoingOn) await migrate(connections, readMigrations(join(import.meta.dirname, "migrations")));
    return await connections.use(async (connection) => {
      const tables = await tablesOf(connection);
      const store = storeOf(connection, placeOf(url), tables, access);
      if (access !== "beside") await lockOthersOut(connection, store);
      return await work(store);
    });
  } finally {
    await connections.end();
  }
}

async function lockOthersOut(connection: Connection, store: TableStore): Promise<void> {
  const isLocked = async () => (await lockOut.get(connection))?.locked === true;
  if (!(await inTime(isLocked))) {
    throw new Error(`Another colloquy command is working on ${store.place}. Wait for it to finish.`);
  }
  await store.refuseServed();
}

function storeOf(
  connection: Connection,
  place: string,
  tables: readonly Table[],
  access: TableAccess,
): TableStore {
  const rows: TableWriter = tableRowsOf(connection);
  const inTransaction = async <Result>(begin: string, work: () => Promise<Result>): Promise<Result> => {
    // The transaction is idle while the other database works.
    await send(connection, `${begin}; SET LOCAL idle_in_transaction_session_timeout = 0`);
    try {
      const result = await work();
      const lost = await commit(connection);
      if (lost !== null) throw connectionLost(lost);
      return result;
    } catch (error) {
      await send(connection, "ROLLBACK").catch(() => undefined);
      throw error;
    }
  };
  return {
    place,
    tables,
    read: <Result>(work: (reader: TableReader) => Promise<Result>) =>
      inTransaction("BEGIN ISOLATION LEVEL REPEATABLE READ", async () => {
        if (access === "source") await lockWritersOut(connection, tables);
        return await work(rows);
      }),
    change: <Result>(work: (writer: TableWriter) => Promise<Result>) =>
      inTransaction("BEGIN ISOLATION LEVEL READ COMMITTED", () => work(rows)),
    async refuseServed() {
      if (await inTime(async () => isUnused(await others.get(connection)))) return;
      throw new Error(`${place} is in use by a Colloquy server. Stop every node first.`);
    },
    tidy: async () => void (await send(connection, "ANALYZE")),
  };
}

/** Locks out writers. Must be called before the first read. */
async function lockWritersOut(connection: Connection, tables: readonly Table[]): Promise<void> {
  const names = tables.map(({ name }) => `"${name}"`).join(", ");
  await send(connection, `SET LOCAL lock_timeout = ${LEFT_MS}; LOCK TABLE ${names} IN SHARE MODE`);
}

function isUnused(counts: { readonly connections: number; readonly leases: number } | undefined): boolean {
  return counts?.connections === 0 && counts.leases === 0;
}

async function inTime(isSo: () => Promise<boolean>): Promise<boolean> {
  const deadline = performance.now() + LEFT_MS;
  while (!(await isSo())) {
    if (performance.now() > deadline) return false;
    await sleep(PAUSE_MS);
  }
  return true;
}

/** Returns the URL without user, password and parameters. */
function placeOf(url: string): string {
  const { hostname, port, pathname } = new URL(url);
  return `postgres://${hostname}:${port === "" ? "5432" : port}${pathname}`;
}

// Skip unlogged tables, which lose their rows in a crash.
const columns = prepare<
  [readonly string[]],
  {
    readonly table: string;
    readonly column: string;
    readonly type: string;
    readonly required: boolean;
    readonly place_in_key: number | null;
  }
>(
  `SELECT c.relname AS "table", a.attname AS "column", format_type(a.atttypid, a.atttypmod) AS type, a.attnotnull AS required,
     array_position(i.indkey::smallint[], a.attnum) AS place_in_key
   FROM pg_class c
   JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
   LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
   WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' AND c.relpersistence = 'p' AND c.relname <> ALL ($1::text[])
   ORDER BY c.relname COLLATE "C", a.attnum`,
);

/** Returns the tables except unlogged ones, with columns and keys, by name. */
async function tablesOf(connection: Connection): Promise<readonly TypedTable[]> {
  const found = Map.groupBy(await columns.all(connection, NOT_MOVED), ({ table }) => table);
  return [...found].map(([name, ofTable]) => ({
    name,
    columns: ofTable.map(({ column, type, required }): TypedColumn => {
      if (!isKnown(type)) throw unknownType(name, column, type);
      return { name: column, kind: KINDS[type], isOptional: !required, type };
    }),
    key: ofTable
      .flatMap(({ column, place_in_key }) => (place_in_key === null ? [] : [{ column, place_in_key }]))
      .toSorted((left, right) => left.place_in_key - right.place_in_key)
      .map(({ column }) => column),
  }));
}

function isKnown(type: string): type is ColumnType {
  return type in KINDS;
}

function unknownType(table: string, column: string, type: string): Error {
  return new Error(`The column ${column} of the table ${table} has the type ${type}, which cannot be moved`);
}

/** Returns access to the rows of tables. All methods must be called in a transaction. */
function tableRowsOf(connection: Connection): TableWriter {
  const inserts = new Map<string, WriteRows>();
  const insertInto = async (table: Table): Promise<WriteRows> => {
    const known = inserts.get(table.name);
    if (known !== undefined) return known;
    const types = await typesOf(connection, table);
    const columns = Object.fromEntries(table.columns.map(({ name }) => [name, types.get(name) ?? "text"]));
    const insert = prepareInsert(quoted(table.name), columns);
    inserts.set(table.name, insert);
    return insert;
  };
  return tableWriter((work) => runOn(connection, work), {
    extract: (table, part) => extract(connection, table, part),
    insert: async (table, rows) => (await insertInto(table))(rows)(connection),
  });
}

async function typesOf(connection: Connection, table: Table) {
  const found = (await tablesOf(connection)).find(({ name }) => name === table.name);
  return new Map(found?.columns.map(({ name, type }) => [name, type]));
}

/** Reads rows up to and including the one that reaches the limit of characters, which the database counts. */
async function extract(connection: Connection, table: Table, part: Extract): Promise<TableRow[]> {
  const { columns, key, rows, values } = partOf(table, part);
  const length = table.columns
    .map(({ name, kind }) => (kind === "text" ? `coalesce(octet_length(${quoted(name)}), 0)` : "8"))
    .join(" + ");
  const text = `SELECT ${columns} FROM (
      SELECT ${columns}, coalesce(sum(${length}) OVER (ORDER BY ${key} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS "before it"
      FROM (SELECT ${columns} FROM ${rows} LIMIT ${part.rows}) AS part
    ) AS summed WHERE "before it" < ${part.characters} ORDER BY ${key}`;
  try {
    return (await connection.query<(string | number | null)[]>({ text, values, rowMode: "array" })).rows;
  } catch (error) {
    throw connectionLost(error);
  }
}

// Opens a database as its tables, for moving data between stores.

import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type {
  Table,
  TableAccess,
  TableReader,
  TableStore,
  TableWriter,
} from "../../core/ports/driven/table-store.ts";
import { readMigrations } from "../migrations.ts";
import { isMoveUnfinished } from "../table-rows.ts";
import { commit } from "./commit.ts";
import { Connections, type Connection } from "./connections.ts";
import { connectionLost } from "./failures.ts";
import { migrate } from "./migrate.ts";
import { checkServer } from "./server-check.ts";
import { checkSessions } from "./session-check.ts";
import { prepare, runOn, send } from "./statement.ts";
import { tableRowsOf, tablesOf } from "./table-rows.ts";

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
    // Keeps the connection alive while the other database works between two statements.
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

function isUnused(found: { readonly connections: number; readonly leases: number } | undefined): boolean {
  return found?.connections === 0 && found.leases === 0;
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

// Describes a database for operators, and checks it for `colloquy doctor`. Works on an empty database.

import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { broken, failed, type Finding, ok, refused, warning } from "@colloquy/engine/internal/core/finding";
import type { Examination } from "@colloquy/engine/internal/core/plugins/backend";
import { inspect, type Inspection, schemaFinding } from "@colloquy/engine/internal/store/inspection";
import { readMigrations } from "@colloquy/engine/internal/store/migrations";
import { Connections, CONNECTIONS_PER_NODE } from "./connections.ts";
import { refuseForeignTables } from "./migrate.ts";
import {
  checkServer,
  explainFewConnections,
  MAY_CREATE_REMEDY,
  PRIMARY_REMEDY,
  refusingToStart,
  WRITABLE_REMEDY,
} from "./server-check.ts";
import { checkSessions } from "./session-check.ts";
import { prepare, runOn, send } from "./statement.ts";

/** Tolerated clock difference in milliseconds. Leases use the database's clock, but timestamps and logs should agree. */
const CLOCK_MS = 2000;

export interface PostgresInspection extends Inspection {
  /** Version of the server, such as `15.8`. */
  readonly version: string;
  /** The server's clock minus this machine's, with an error of at most the round trip. */
  readonly clockAheadMs: number;
  readonly roundTripMs: number;
  readonly isStandby: boolean;
  /**
   * The user of the connection, and whether it may create tables, which every start does (`CREATE TABLE IF
   * NOT EXISTS`).
   */
  readonly user: string;
  readonly mayCreate: boolean;
  readonly connections: number;
  readonly maxConnections: number;
  /** Maximum open connections of this user in this database. */
  readonly connectionLimit: number;
}

const facts = prepare<
  [],
  {
    readonly now: number;
    readonly standby: boolean;
    readonly who: string;
    readonly may_create: boolean;
    readonly connections: number;
    readonly max_connections: number;
  }
>(
  `SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now, pg_is_in_recovery() AS standby,
     current_user::text AS who, coalesce(has_schema_privilege(current_schema(), 'CREATE'), false) AS may_create,
     (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS connections,
     current_setting('max_connections')::integer AS max_connections`,
);

/**
 * Rejects with a user-facing message if the database cannot be reached or must not be used. `now` returns
 * milliseconds since the Unix epoch.
 */
export async function inspectPostgres(url: string, now: () => number): Promise<PostgresInspection> {
  const connections = new Connections({ url, connections: 1 });
  try {
    await checkSessions(connections, { url });
    const { name: version, connection_limit: connectionLimit } = await checkServer(connections);
    return await connections.use(async (connection) => {
      // The first run prepares the statement, so that the second is one round trip.
      await facts.get(connection);
      const sentAt = now();
      const found = await facts.get(connection);
      const roundTripMs = now() - sentAt;
      if (found === undefined) throw new Error("The database does not answer");
      const folder = join(import.meta.dirname, "migrations");
      await refuseForeignTables(connection, readMigrations(folder));
      return {
        ...(await runOn(connection, inspect(folder))),
        version,
        clockAheadMs: Math.round(found.now - (sentAt + roundTripMs / 2)),
        roundTripMs,
        isStandby: found.standby,
        user: found.who,
        mayCreate: found.may_create,
        connections: found.connections,
        maxConnections: found.max_connections,
        connectionLimit,
      };
    });
  } finally {
    await connections.end();
  }
}

const identity = prepare<[], { readonly identity: string }>(
  `SELECT (SELECT system_identifier FROM pg_control_system())::text || '-' || oid AS identity
   FROM pg_database WHERE datname = current_database()`,
);

/**
 * Returns an id that identifies the database whatever URL is used: its cluster's system identifier and its
 * oid. 1 to 63 digits and dashes.
 */
export async function databaseIdentity(url: string): Promise<string> {
  const connections = new Connections({ url, connections: 1 });
  try {
    const row = await connections.use((connection) => identity.get(connection));
    if (row === undefined) throw new Error("The database did not report its identity");
    return row.identity;
  } finally {
    await connections.end();
  }
}

/** Returns findings from `inspectPostgres` and from a test write. `now` returns milliseconds since the Unix epoch. */
export async function examinePostgres(url: string, now: () => number): Promise<Examination> {
  try {
    const inspection = await refusingToStart(() => inspectPostgres(url, now));
    const [database, ...others] = findingsOf(inspection);
    // A broken finding explains why a write would fail.
    const writeFailure =
      database?.health === "broken" ? null : await tryToWrite(url, `PostgreSQL ${inspection.version}`);
    return {
      findings: [writeFailure ?? database, ...others].filter((finding) => finding !== undefined),
      secretsByKey: inspection.secretsByKey,
    };
  } catch (error) {
    return { findings: [refused("database", error)], secretsByKey: null };
  }
}

export function findingsOf(inspection: PostgresInspection): readonly Finding[] {
  return [databaseFinding(inspection), clockFinding(inspection), ...connectionFindings(inspection)];
}

function databaseFinding(inspection: PostgresInspection): Finding {
  const place = `PostgreSQL ${inspection.version}`;
  if (inspection.isStandby) {
    return broken("database", `${place} is a standby and accepts no writes.`, PRIMARY_REMEDY);
  }
  if (!inspection.mayCreate) {
    return broken(
      "database",
      `${place}: its user ${inspection.user} may not create tables.`,
      MAY_CREATE_REMEDY,
    );
  }
  return schemaFinding(place, inspection);
}

function clockFinding({ clockAheadMs, roundTripMs }: PostgresInspection): Finding {
  const found = `The database's clock is ${Math.abs(clockAheadMs)} ms ${clockAheadMs < 0 ? "behind" : "ahead of"} this machine's; one round trip took ${roundTripMs} ms.`;
  return Math.abs(clockAheadMs) <= CLOCK_MS + roundTripMs
    ? ok("clock", found)
    : warning(
        "clock",
        found,
        "Synchronize both machines by NTP, or timestamps in answers and logs will not agree.",
      );
}

function connectionFindings(inspection: PostgresInspection): readonly Finding[] {
  const { connections, maxConnections, connectionLimit } = inspection;
  const few = explainFewConnections(connectionLimit);
  if (few !== null) return [warning("database", few.found, few.mend)];
  if (maxConnections - connections >= CONNECTIONS_PER_NODE) return [];
  return [
    warning(
      "database",
      `${connections} of its ${maxConnections} connections are in use; a node needs up to ${CONNECTIONS_PER_NODE}.`,
      "Raise max_connections in postgresql.conf, or run fewer nodes.",
    ),
  ];
}

// Commits a test write, because reads may succeed while the disk is full or transactions are read-only. The
// test creates, fills and drops a table in one transaction, so that the table is never visible and nothing
// remains.

/** Number of rows. They exceed the free space in existing files, so the write fails on a full disk. */
const ROWS = 1000;
const BYTES_PER_ROW = 1000;

/**
 * SQLSTATEs `disk_full` and `read_only_sql_transaction` (postgresql.org/docs/current/errcodes-appendix.html).
 */
const DISK_FULL = "53100";
const READ_ONLY = "25006";

/** Commits a test write. Returns the finding if it fails, otherwise `null`. `place` names the database. */
async function tryToWrite(url: string, place: string): Promise<Finding | null> {
  const table = `colloquy_doctor_${randomUUID().replaceAll("-", "")}`;
  const connections = new Connections({ url, connections: 1 });
  try {
    // A multi-statement query runs as one transaction.
    await connections.use((connection) =>
      send(
        connection,
        `CREATE TABLE ${table} (content text NOT NULL);
         INSERT INTO ${table} (content) SELECT repeat('x', ${BYTES_PER_ROW}) FROM generate_series(1, ${ROWS});
         DROP TABLE ${table}`,
      ),
    );
    return null;
  } catch (error) {
    return writeFailure(place, error);
  } finally {
    await connections.end();
  }
}

function writeFailure(place: string, error: unknown): Finding {
  const code = error instanceof Error && "code" in error ? error.code : null;
  if (code === DISK_FULL) {
    return failed(
      "database",
      `${place} has no room for a write`,
      error,
      "Free space on the disk of the database server: until then chats are rejected with 507, and nothing is lost.",
    );
  }
  if (code === READ_ONLY) {
    return broken("database", `${place} accepts no writes: its transactions are read-only.`, WRITABLE_REMEDY);
  }
  return failed("database", `${place} rejected a write`, error, "Check the log of its server.");
}

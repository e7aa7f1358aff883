import { randomUUID } from "node:crypto";
import {
  CONNECTIONS,
  COUNTING_CONNECTIONS,
  LEASE_CONNECTIONS,
  Connections,
} from "../store/postgres/connections.ts";
import { inspectPostgres, type PostgresInspection } from "../store/postgres/inspection.ts";
import {
  MAY_CREATE_REMEDY,
  PRIMARY_REMEDY,
  refusingToStart,
  WRITABLE_REMEDY,
} from "../store/postgres/server-check.ts";
import { inspectSqlite } from "../store/sqlite/inspection.ts";
import { send } from "../store/postgres/statement.ts";
import { broken, failed, type Finding, ok, refused, schemaFinding, warning } from "./finding.ts";

/** Tolerated clock difference in milliseconds. Leases use the database's clock, but timestamps and logs should agree. */
const CLOCK_MS = 2000;

/** One connection to send and one to listen. */
const NOTIFICATION_CONNECTIONS = 2;
/** Connections of a public node without NATS. */
const CONNECTIONS_PER_NODE =
  CONNECTIONS + LEASE_CONNECTIONS + NOTIFICATION_CONNECTIONS + COUNTING_CONNECTIONS;

export interface ExaminedDatabase {
  readonly findings: readonly Finding[];
  /** Number of secrets per master key id; `null` if the database could not be read. */
  readonly secretsByKey: Readonly<Record<string, number>> | null;
}

export function examineSqlite(directory: string): ExaminedDatabase {
  const place = `SQLite in ${directory}`;
  try {
    const found = inspectSqlite(directory);
    if (found === null) {
      return {
        findings: [ok("database", `${place}: no database yet; the first start creates it.`)],
        secretsByKey: {},
      };
    }
    const finding = schemaFinding(place, found);
    const served = found.isServed ? "A server is running on it." : "No server is running on it.";
    return {
      findings: [{ ...finding, found: `${finding.found} ${served}` }],
      secretsByKey: found.secretsByKey,
    };
  } catch (error) {
    const mend = "Check the file and its disk; if it is damaged, restore a backup (docs/operations.md).";
    return { findings: [failed("database", `${place} cannot be read`, error, mend)], secretsByKey: null };
  }
}

/** `now` returns this machine's time in milliseconds since the Unix epoch. */
export async function examinePostgres(url: string, now: () => number): Promise<ExaminedDatabase> {
  try {
    const found = await refusingToStart(() => inspectPostgres(url, now));
    const [database, ...others] = findingsOf(found);
    // A broken finding already explains why a write would fail.
    const writeFailure =
      database?.health === "broken" ? null : await tryToWrite(url, `PostgreSQL ${found.version}`);
    return {
      findings: [writeFailure ?? database, ...others].filter((finding) => finding !== undefined),
      secretsByKey: found.secretsByKey,
    };
  } catch (error) {
    return { findings: [refused("database", error)], secretsByKey: null };
  }
}

export function findingsOf(found: PostgresInspection): readonly Finding[] {
  return [databaseFinding(found), clockFinding(found), ...connectionFindings(found)];
}

function databaseFinding(found: PostgresInspection): Finding {
  const place = `PostgreSQL ${found.version}`;
  if (found.isStandby) {
    return broken("database", `${place} is a standby and accepts no writes.`, PRIMARY_REMEDY);
  }
  if (!found.mayCreate) {
    return broken("database", `${place}: its user ${found.user} may not create tables.`, MAY_CREATE_REMEDY);
  }
  return schemaFinding(place, found);
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

function connectionFindings({ connections, maxConnections }: PostgresInspection): readonly Finding[] {
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

/** Number of rows, more than fit into the free space of existing files on a full disk. */
const ROWS = 1000;
const BYTES_PER_ROW = 1000;

/**
 * SQLSTATEs `disk_full` and `read_only_sql_transaction` (postgresql.org/docs/current/errcodes-appendix.html).
 */
const DISK_FULL = "53100";
const READ_ONLY = "25006";

/** Returns the problem, or `null` if the write was committed. `place` names the database in findings. */
async function tryToWrite(url: string, place: string): Promise<Finding | null> {
  const table = `colloquy_doctor_${randomUUID().replaceAll("-", "")}`;
  const connections = new Connections({ url, connections: 1 });
  try {
    // A multi-statement query runs as one transaction.
    await connections.use((connection) =>
      send(
        connection,
        `CREATE TABLE ${table} (content text NOT NULL);
         INSERT INTO ${table} SELECT repeat('x', ${BYTES_PER_ROW}) FROM generate_series(1, ${ROWS});
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

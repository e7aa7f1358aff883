import { CONNECTIONS, COUNTING_CONNECTIONS, LEASE_CONNECTIONS } from "../store/postgres/connections.ts";
import { inspectPostgres, type PostgresInspection } from "../store/postgres/inspection.ts";
import { MAY_CREATE_MEND } from "../store/postgres/start-refusal.ts";
import { inspectSqlite } from "../store/sqlite/inspection.ts";
import { broken, failed, type Finding, ok, schemaFinding, warning } from "./finding.ts";
import { tryToWrite } from "./trial-write.ts";

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
    const found = await inspectPostgres(url, now);
    const [database, ...others] = findingsOf(found);
    // A broken finding already explains why a write would fail.
    const writeFailure =
      database?.health === "broken" ? null : await tryToWrite(url, `PostgreSQL ${found.version}`);
    return {
      findings: [writeFailure ?? database, ...others].filter((finding) => finding !== undefined),
      secretsByKey: found.secretsByKey,
    };
  } catch (error) {
    const mend =
      "Check that the server runs, that COLLOQUY_DATABASE_URL is right, and that this machine may connect (pg_hba.conf).";
    return {
      findings: [failed("database", "PostgreSQL cannot be used", error, mend)],
      secretsByKey: null,
    };
  }
}

export function findingsOf(found: PostgresInspection): readonly Finding[] {
  return [databaseFinding(found), clockFinding(found), ...connectionFindings(found)];
}

function databaseFinding(found: PostgresInspection): Finding {
  const place = `PostgreSQL ${found.version}`;
  if (found.isStandby) {
    return broken(
      "database",
      `${place} is a standby and accepts no writes.`,
      "Point COLLOQUY_DATABASE_URL at the primary, or promote this server.",
    );
  }
  if (!found.mayCreate) {
    return broken("database", `${place}: its user ${found.user} may not create tables.`, MAY_CREATE_MEND);
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

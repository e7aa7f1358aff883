// Describes a database for operators. Changes nothing, and works on an empty database.

import { join } from "node:path";
import { inspect, type Inspection } from "../inspection.ts";
import { readMigrations } from "../migrations.ts";
import { refuseForeignTables } from "./migrate.ts";
import { Connections } from "./connections.ts";
import { checkServer } from "./server-check.ts";
import { checkSessions } from "./session-check.ts";
import { prepare, runOn } from "./statement.ts";

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
    const { name: version } = await checkServer(connections);
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

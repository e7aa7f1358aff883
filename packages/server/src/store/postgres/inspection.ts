// What a database says of itself, for whoever looks after it. Nothing is changed, and nothing has to be there yet.

import { join } from "node:path";
import { readMigrations, type SchemaState } from "../migrations.ts";
import { Connections } from "./connections.ts";
import { checkServer } from "./server-check.ts";
import { prepare } from "./statement.ts";

export interface PostgresInspection extends SchemaState {
  /** Of the server, such as `15.8`. */
  readonly version: string;
  /** The server's clock less this machine's, and what that may be wrong by. */
  readonly clockAheadMs: number;
  readonly roundTripMs: number;
  /** It follows another server and takes no writes. */
  readonly isStandby: boolean;
  /** Whom nodes connect as, and whether he may make the tables: each start looks at them with `CREATE TABLE IF NOT EXISTS`. */
  readonly user: string;
  readonly mayCreate: boolean;
  readonly connections: number;
  readonly maxConnections: number;
  /** How many secrets each master key has sealed, by its id. */
  readonly secretsByKey: Readonly<Record<string, number>>;
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
    readonly migrated: boolean;
    readonly secrets: boolean;
  }
>(
  `SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now, pg_is_in_recovery() AS standby,
     current_user::text AS who, coalesce(has_schema_privilege(current_schema(), 'CREATE'), false) AS may_create,
     (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS connections,
     current_setting('max_connections')::integer AS max_connections,
     to_regclass('schema_migrations') IS NOT NULL AS migrated, to_regclass('secrets') IS NOT NULL AS secrets`,
);
const newest = prepare<[], { readonly version: number | null }>(
  "SELECT max(version) AS version FROM schema_migrations",
);
const sealed = prepare<[], { readonly key_id: string; readonly count: number }>(
  "SELECT key_id, count(*) AS count FROM secrets GROUP BY key_id ORDER BY key_id",
);

/**
 * Rejects with a sentence for the person at the terminal when the database cannot be reached, or cannot be trusted with data. `now`:
 * milliseconds since the Unix epoch, on this machine's clock.
 */
export async function inspectPostgres(url: string, now: () => number): Promise<PostgresInspection> {
  const connections = new Connections({ url, connections: 1 });
  try {
    const version = await checkServer(connections);
    return await connections.use(async (connection) => {
      // Prepared by a first time, so that the second is one round trip.
      await facts.get(connection);
      const sentAt = now();
      const found = await facts.get(connection);
      const roundTripMs = now() - sentAt;
      if (found === undefined) throw new Error("The database does not answer");
      const schema = found.migrated ? await newest.get(connection) : undefined;
      const secrets = found.secrets ? await sealed.all(connection) : [];
      return {
        version,
        clockAheadMs: Math.round(found.now - (sentAt + roundTripMs / 2)),
        roundTripMs,
        isStandby: found.standby,
        user: found.who,
        mayCreate: found.may_create,
        connections: found.connections,
        maxConnections: found.max_connections,
        schemaVersion: schema?.version ?? 0,
        migrations: readMigrations(join(import.meta.dirname, "migrations")),
        secretsByKey: Object.fromEntries(secrets.map(({ key_id, count }) => [key_id, count])),
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
 * What tells this database from every other one, by whatever name it is reached: the identifier that its cluster was given when it was
 * made, and the database's number in it. 1 to 63 digits and dashes.
 */
export async function databaseIdentity(url: string): Promise<string> {
  const connections = new Connections({ url, connections: 1 });
  try {
    const row = await connections.use((connection) => identity.get(connection));
    if (row === undefined) throw new Error("The database does not say which one it is");
    return row.identity;
  } finally {
    await connections.end();
  }
}

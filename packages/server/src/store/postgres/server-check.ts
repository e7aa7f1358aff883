// Explains why a process cannot start on a database: no connection, missing privileges, or a server that this
// service must not trust with its data.

import { DatabaseError } from "pg";
import type { Connections } from "./connections.ts";
import { connectionLost } from "./failures.ts";
import { prepare } from "./statement.ts";

/** PostgreSQL 15, as `server_version_num`. */
const OLDEST_VERSION = 150_000;

const server = prepare<
  [],
  {
    readonly version: number;
    readonly name: string;
    readonly encoding: string;
  }
>(
  `SELECT current_setting('server_version_num')::integer AS version, current_setting('server_version') AS name,
     current_setting('server_encoding') AS encoding`,
);

/**
 * Returns the name of the server's version. Rejects with a user-facing message if the server must not be
 * used.
 */
export async function checkServer(connections: Pick<Connections, "use">): Promise<string> {
  const found = await connections.use((connection) => server.get(connection));
  if (found === undefined) throw new Error("The database did not report its version");
  if (found.version < OLDEST_VERSION) {
    throw new Error(`The database is PostgreSQL ${found.name}. Colloquy needs version 15 or newer.`);
  }
  if (found.encoding !== "UTF8") {
    throw new Error(
      `The database has the encoding ${found.encoding}. Colloquy needs one created with ENCODING 'UTF8'.`,
    );
  }
  return found.name;
}

/**
 * SQLSTATEs for invalid authorization, wrong password, no such database, and not accepting connections
 * (postgresql.org/docs/current/errcodes-appendix.html).
 */
const REFUSALS: ReadonlySet<string> = new Set(["28000", "28P01", "3D000", "53300", "57P03"]);

/** SQLSTATE `insufficient_privilege`. */
const NOT_ALLOWED = "42501";
/** Remedy for missing privileges: since version 15, only its owner may create tables in a new database. */
export const MAY_CREATE_REMEDY =
  "Make this user the owner of the database (ALTER DATABASE … OWNER TO …), or let it make tables there (GRANT CREATE ON SCHEMA public TO …).";

const LOST = connectionLost(null).name;

/** Runs `open`. Rethrows errors of the connection or of privileges with a message that says what to do. */
export async function refusingToStart<Result>(open: () => Promise<Result>): Promise<Result> {
  try {
    return await open();
  } catch (error) {
    if (error instanceof DatabaseError && error.code === NOT_ALLOWED) {
      throw new Error(`The database user lacks a privilege: ${reasonOf(error)}. ${MAY_CREATE_REMEDY}`, {
        cause: error,
      });
    }
    const isRefusal = error instanceof DatabaseError && REFUSALS.has(error.code ?? "");
    if (!(error instanceof Error) || (error.name !== LOST && !isRefusal)) throw error;
    throw new Error(
      `The database cannot be reached: ${reasonOf(isRefusal ? error : (error.cause ?? error))}. ` +
        "Check that it runs, that COLLOQUY_DATABASE_URL is correct, and that this machine may connect (pg_hba.conf).",
      { cause: error },
    );
  }
}

/** Returns the message of an error. The error for a name with several addresses has no message of its own. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === "") return error.errors.map(reasonOf).join("; ");
  return (error instanceof Error ? error.message : String(error)).replace(/\.$/, "");
}

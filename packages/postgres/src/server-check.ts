// Explains why a process cannot start on a database: no connection, missing privileges, or a server that this
// service must not trust with its data.

import { DatabaseError } from "pg";
import { type Connections, CONNECTIONS_PER_NODE } from "./connections.ts";
import { connectionLost } from "./failures.ts";
import { prepare } from "./statement.ts";

/** PostgreSQL 15, as `server_version_num`. */
const OLDEST_VERSION = 150_000;

/** Remedies for databases that accept no writes, also for `colloquy doctor`. */
export const PRIMARY_REMEDY = "Point COLLOQUY_DATABASE_URL at the primary, or promote this server.";
export const WRITABLE_REMEDY =
  "Point COLLOQUY_DATABASE_URL at the primary; if it already does, check SHOW default_transaction_read_only, and turn it off: ALTER DATABASE … SET default_transaction_read_only = off (or ALTER ROLE …, or postgresql.conf).";

const server = prepare<
  [],
  {
    readonly version: number;
    readonly name: string;
    readonly encoding: string;
    readonly standby: boolean;
    readonly read_only: string;
    readonly connection_limit: number;
  }
>(
  `SELECT current_setting('server_version_num')::integer AS version, current_setting('server_version') AS name,
     current_setting('server_encoding') AS encoding, pg_is_in_recovery() AS standby,
     current_setting('transaction_read_only') AS read_only,
     (SELECT CASE WHEN rolsuper THEN current_setting('max_connections')::integer
        ELSE least(current_setting('max_connections')::integer - current_setting('superuser_reserved_connections')::integer,
          nullif(rolconnlimit, -1), nullif(datconnlimit, -1)) END
      FROM pg_roles, pg_database WHERE rolname = session_user AND datname = current_database()) AS connection_limit`,
);

/** Returns the problem and its remedy if a node may need more connections than the server allows its user. */
export function explainFewConnections(
  limit: number,
): { readonly found: string; readonly mend: string } | null {
  if (limit >= CONNECTIONS_PER_NODE) return null;
  return {
    found: `The database allows this user ${limit} connections, and a node needs up to ${CONNECTIONS_PER_NODE}: without a free one, requests are answered with 503.`,
    mend: "Raise the limit: ALTER ROLE … CONNECTION LIMIT, ALTER DATABASE … CONNECTION LIMIT, or max_connections in postgresql.conf.",
  };
}

/**
 * Returns the facts of the server. Rejects with a user-facing message if the server must not be
 * used.
 */
export async function checkServer(connections: Pick<Connections, "use">) {
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
  return found;
}

/** Returns a warning, or `null`. Rejects with a user-facing message if the server accepts no writes. */
export async function checkPrimary(connections: Pick<Connections, "use">): Promise<string | null> {
  const { standby, read_only: readOnly, connection_limit: limit } = await checkServer(connections);
  if (standby) throw new Error(`The database is a standby and accepts no writes. ${PRIMARY_REMEDY}`);
  if (readOnly === "on") {
    throw new Error(`The database accepts no writes: its transactions are read-only. ${WRITABLE_REMEDY}`);
  }
  const few = explainFewConnections(limit);
  return few === null ? null : `${few.found} ${few.mend}`;
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

/** SQLSTATE `invalid_schema_name`: `search_path` names no existing schema. */
const NO_SCHEMA = "3F000";

const LOST = connectionLost(null).name;

const NAME_THE_AUTHORITY =
  "sslmode=require checks the certificate too. Name the authority that signed it, " +
  "?sslmode=verify-full&sslrootcert=/path/ca.pem in COLLOQUY_DATABASE_URL, or add it with NODE_EXTRA_CA_CERTS (docs/security.md).";

/** Remedies by error code of Node's TLS. */
const TLS_REMEDIES: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: NAME_THE_AUTHORITY,
  SELF_SIGNED_CERT_IN_CHAIN: NAME_THE_AUTHORITY,
  UNABLE_TO_GET_ISSUER_CERT: NAME_THE_AUTHORITY,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: NAME_THE_AUTHORITY,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: NAME_THE_AUTHORITY,
  CERT_HAS_EXPIRED: "Renew it on the database server.",
  ERR_TLS_CERT_ALTNAME_INVALID: "Use one of the certificate's names as the host in COLLOQUY_DATABASE_URL.",
};

/** Returns a message if the database's certificate is the reason of `error`; `null` otherwise. */
function explainCertificate(error: unknown): string | null {
  const reason = error instanceof Error && error.name === LOST ? error.cause : error;
  if (!(reason instanceof Error) || !("code" in reason)) return null;
  const remedy = TLS_REMEDIES[String(reason.code)];
  // Node adds advice about the certificates of the operating system.
  const [shortReason = ""] = reasonOf(reason).split(";");
  return remedy === undefined ? null : `The database's certificate is not trusted: ${shortReason}. ${remedy}`;
}

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
    if (error instanceof DatabaseError && error.code === NO_SCHEMA) {
      throw new Error(
        "The database has no schema to create tables in. Create the one that search_path names (CREATE SCHEMA …), or correct search_path.",
        { cause: error },
      );
    }
    const certificate = explainCertificate(error);
    if (certificate !== null) throw new Error(certificate, { cause: error });
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

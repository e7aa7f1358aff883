// A bounded pool of connections with a limit on every wait, so that an unresponsive database causes an error
// instead of a hang.

import { Client, Pool, types } from "pg";
import { commit, readBack, type TransactionName } from "./commit.ts";
import { breaksConnection, connectionLost } from "./failures.ts";
import { send, together, type Connection } from "./statement.ts";

export type { Connection } from "./statement.ts";

export interface ConnectionOptions {
  /** A PostgreSQL URL: `postgres://user:password@host:port/database`. */
  readonly url: string;
  /** Maximum open connections; 10 when absent. */
  readonly connections?: number;
  /** Milliseconds to wait for a connection; 3,000 when absent. */
  readonly connectMs?: number;
  /** Milliseconds that one statement may take; 5,000 when absent. */
  readonly statementMs?: number;
}

/**
 * The result of a transaction, and its identity, to look it up if the connection breaks during the commit.
 */
export interface Written<Result> {
  readonly result: Result;
  readonly transaction: TransactionName;
  /** The promise of `commit`, if `work` has called it to send COMMIT with the last statements. */
  readonly ended?: Promise<unknown>;
}

const BIGINT = 20;

/**
 * Planner settings. Statements are planned once per connection, perhaps on empty tables, and must use their
 * indexes from the first row on. By default the server plans each statement five times, and those with short
 * arrays every time, because it assumes longer arrays for a generic plan.
 */
const PLANNING = "SET enable_seqscan = off; SET jit = off; SET plan_cache_mode = force_generic_plan";

/** Connections of a node for its store, its leases, and its rate limits. */
export const CONNECTIONS = 10;
export const LEASE_CONNECTIONS = 2;
export const COUNTING_CONNECTIONS = 2;
export const STATEMENT_MS = 5000;

/** Returns the `lock_timeout` for a `statement_timeout`, in milliseconds. */
export function lockMs(statementMs: number): number {
  return Math.ceil(statementMs / 2);
}

/**
 * Sets the server's limits. PgBouncer refuses or ignores them as parameters of the connection.
 *
 * A process that is paused in a transaction loses the transaction and its locks.
 */
function limits(statementMs: number): string {
  return `SET statement_timeout = ${statementMs}; SET lock_timeout = ${lockMs(statementMs)};
    SET idle_in_transaction_session_timeout = ${statementMs}`;
}

export class Connections {
  readonly #pool: Pool;

  constructor(options: ConnectionOptions) {
    const { url, connections = CONNECTIONS, connectMs = 3000, statementMs = STATEMENT_MS } = options;
    this.#pool = new Pool({
      connectionString: url,
      max: connections,
      application_name: "colloquy",
      keepAlive: true,
      pipeline: true,
      connectionTimeoutMillis: connectMs,
      // Client-side timeout for an unresponsive server. Longer than the server's own limit, so that the
      // server's error arrives first if there is one.
      query_timeout: statementMs + 1000,
      types: {
        // Every number here is a time, a position or a key, and far below 2^53.
        getTypeParser: (oid: number, format?: "text" | "binary") =>
          oid === BIGINT ? Number : types.getTypeParser(oid, format),
      },
    });
    // A connection that breaks while idle fails at its next use.
    this.#pool.on("error", () => undefined);
    this.#pool.on("connect", (client) => {
      client.on("error", () => undefined);
      // Sent before anything else. Without its limits, a connection must not be used.
      client.query(`${PLANNING}; ${limits(statementMs)}`).catch(() => {
        if (client instanceof Client) client.connection.stream.destroy();
      });
    });
  }

  /** Runs `work` on a connection, without a transaction. */
  use<Result>(work: (connection: Connection) => Promise<Result>): Promise<Result> {
    return this.#lend((connection) => work(connection));
  }

  /** Reads one snapshot of the database. */
  read<Result>(work: (connection: Connection) => Promise<Result>): Promise<Result> {
    return this.#lend(async (connection) => {
      const begun = send(connection, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
      const [result] = await together([work(connection), begun]);
      await send(connection, "COMMIT");
      return result;
    });
  }

  /** Runs `work` in a transaction. */
  async write<Result>(work: (connection: Connection) => Promise<Written<Result>>): Promise<Result> {
    const { result, transaction, lost } = await this.#lend(async (connection, spoil) => {
      const begun = send(connection, "BEGIN ISOLATION LEVEL READ COMMITTED");
      const [written] = await together([work(connection), begun]).catch(async (error: unknown) => {
        // Release the locks before repeating, because the server notices a closed connection late.
        if (!breaksConnection(error)) await send(connection, "ROLLBACK").catch(() => undefined);
        throw error;
      });
      const lost = await (written.ended ?? commit(connection));
      if (lost !== null) spoil();
      return { ...written, lost };
    });
    if (lost !== null) await readBack(transaction, lost, (ask) => this.use(ask));
    return result;
  }

  end(): Promise<void> {
    return this.#pool.end();
  }

  /** Closes the connection after any failure, and with it its transaction and prepared statements. */
  async #lend<Result>(work: (connection: Connection, spoil: () => void) => Promise<Result>): Promise<Result> {
    const connection = await this.#pool.connect().catch((error: unknown) => {
      throw connectionLost(error);
    });
    let isSpoilt = false;
    try {
      return await work(connection, () => {
        isSpoilt = true;
      });
    } catch (error) {
      isSpoilt = true;
      throw error;
    } finally {
      connection.release(isSpoilt);
    }
  }
}

// The pool of connections: bounded, with a limit on every wait, so that a database that is down or silent is an error and never a hang.

import { Pool, types } from "pg";
import { commit, readBack, type TransactionName } from "./commit.ts";
import { concernsAll, connectionLost } from "./failures.ts";
import { send, together, type Connection } from "./statement.ts";

export type { Connection } from "./statement.ts";

export interface ConnectionOptions {
  /** As PostgreSQL writes it: `postgres://user:password@host:port/database`. */
  readonly url: string;
  /** Connections that are open at most; 10 when absent. */
  readonly connections?: number;
  /** Milliseconds to wait for a connection; 3,000 when absent. */
  readonly connectMs?: number;
  /** Milliseconds that one statement may take; 5,000 when absent. */
  readonly statementMs?: number;
}

/** What a transaction answers when it is committed, and its name, which is asked for when the connection breaks just then. */
export interface Written<Result> {
  readonly result: Result;
  readonly transaction: TransactionName;
  /** What `commit` answers, where it was called already, so that the end leaves with the last statements; else it is called then. */
  readonly ended?: Promise<unknown>;
}

const BIGINT = 20;

/**
 * Statements are planned once for a connection, when tables may still be empty. Every one of them has its index, and is to use it from the
 * first row on; a table that is read as a whole is so all the same. Left to itself the server plans each of them five times, and those with
 * short lists each time, because it takes a list that it does not know for longer.
 */
const PLANNING = "SET enable_seqscan = off; SET jit = off; SET plan_cache_mode = force_generic_plan";

/** How many a node has for its store, for its leases, and to count what clients may do. */
export const CONNECTIONS = 10;
export const LEASE_CONNECTIONS = 2;
export const COUNTING_CONNECTIONS = 2;
export const STATEMENT_MS = 5000;

/** Milliseconds to wait for what somebody else has locked, where a statement may take so many. */
export function lockMs(statementMs: number): number {
  return Math.ceil(statementMs / 2);
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
      // For a server that says nothing at all: later than its own limit, so that its answer comes first where it has one.
      query_timeout: statementMs + 1000,
      statement_timeout: statementMs,
      lock_timeout: lockMs(statementMs),
      // A process that stops in the middle of a transaction loses it, and with it the locks.
      idle_in_transaction_session_timeout: statementMs,
      types: {
        // Every number here is a time, a position or a key: far below 2^53.
        getTypeParser: (oid: number, format?: "text" | "binary") =>
          oid === BIGINT ? Number : types.getTypeParser(oid, format),
      },
    });
    // A connection may break while nobody uses it or between two statements: whoever uses it next is told.
    this.#pool.on("error", () => undefined);
    this.#pool.on("connect", (client) => {
      client.on("error", () => undefined);
      client.query(PLANNING).catch(() => undefined);
    });
  }

  /** Runs `work` on a connection of its own, without a transaction. */
  use<Result>(work: (connection: Connection) => Promise<Result>): Promise<Result> {
    return this.#lend((connection) => work(connection));
  }

  /** Reads one state of the database, which nobody changes meanwhile. */
  read<Result>(work: (connection: Connection) => Promise<Result>): Promise<Result> {
    return this.#lend(async (connection) => {
      const begun = send(connection, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
      const [result] = await together([work(connection), begun]);
      await send(connection, "COMMIT");
      return result;
    });
  }

  /** Changes the database: all that `work` does, or nothing of it. */
  async write<Result>(work: (connection: Connection) => Promise<Written<Result>>): Promise<Result> {
    const { result, transaction, lost } = await this.#lend(async (connection, spoil) => {
      const begun = send(connection, "BEGIN ISOLATION LEVEL READ COMMITTED");
      const [written] = await together([work(connection), begun]).catch(async (error: unknown) => {
        // Whoever runs again what was in it must not find its own locks: the server is late to notice that a connection is gone.
        if (!concernsAll(error)) await send(connection, "ROLLBACK").catch(() => undefined);
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

  /**
   * A connection that failed in whatever way is not used again: what it was in the middle of ends with it, and so does what it was told
   * to prepare and could not.
   */
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

// A bounded pool of connections with a limit on every wait, so that an unresponsive database causes an error
// instead of a hang.

import { readFileSync } from "node:fs";
import { Client, Pool, types } from "pg";
import { describeFileError } from "@colloquy/engine/internal/core/file-error";
import { commit, readBack, type TransactionName, type Transact } from "./commit.ts";
import { breaksConnection, connectionLost } from "./failures.ts";
import { StandbyWait, type Observer } from "./standby-wait.ts";
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
  /** Refuses writes while commits wait for a standby; not shared when absent. */
  readonly standbyWait?: StandbyWait;
  /** Receives the server (`TransactionName.server`) of each write. */
  readonly onServer?: (server: string) => void;
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

/** The statements pass NULL in arrays, which is text where the database has set this compatibility option to off. */
const NULLS = "SET array_nulls = on";

/**
 * Planner settings. Statements are planned once per connection, perhaps on empty tables, and must use their
 * indexes from the first row on. By default the server plans each statement five times, and those with short
 * arrays every time, because it assumes longer arrays for a generic plan.
 */
const PLANNING = "SET enable_seqscan = off; SET jit = off; SET plan_cache_mode = force_generic_plan";

/**
 * Makes a successful COMMIT mean durable, whatever the settings of the server, the database and the user: it
 * waits for the disk and for the synchronous standbys, and a cut wait is reported (commit.ts).
 */
const DURABLE = `SET client_min_messages = warning;
  SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') <> 'remote_apply'`;

/** Connections of a node for its store, its leases, and its rate limits. */
export const CONNECTIONS = 10;
export const LEASE_CONNECTIONS = 2;
export const COUNTING_CONNECTIONS = 2;
/** One connection to send and one to listen. */
const NOTIFICATION_CONNECTIONS = 2;
/** Connections of a public node without NATS. */
export const CONNECTIONS_PER_NODE =
  CONNECTIONS + LEASE_CONNECTIONS + NOTIFICATION_CONNECTIONS + COUNTING_CONNECTIONS;
export const STATEMENT_MS = 5000;

/** Returns the `lock_timeout` for a `statement_timeout`, in milliseconds. */
export function lockMs(statementMs: number): number {
  return Math.ceil(statementMs / 2);
}

/** URL parameters that name files. */
const FILES = ["sslrootcert", "sslcert", "sslkey"];

/** Throws with a user-facing message if a file that the URL names cannot be read. */
function checkCertificateFiles(url: string): void {
  const parameters = URL.parse(url)?.searchParams;
  for (const name of FILES) {
    const path = parameters?.get(name) ?? "";
    if (path === "") continue;
    try {
      readFileSync(path);
    } catch (error) {
      const advice = "Put the certificate there, or correct the parameter in COLLOQUY_DATABASE_URL.";
      throw new Error(describeFileError(`${name}=${path}`, error, advice), { cause: error });
    }
  }
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
  readonly #standbyWait: StandbyWait;
  readonly #onServer: (server: string) => void;

  /** Throws with a user-facing message if a file that the URL names cannot be read. */
  constructor(options: ConnectionOptions) {
    const { url, connections = CONNECTIONS, connectMs = 3000, statementMs = STATEMENT_MS } = options;
    this.#standbyWait = options.standbyWait ?? new StandbyWait();
    this.#onServer = options.onServer ?? (() => undefined);
    checkCertificateFiles(url);
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
      // Sent before anything else. Without these settings, a connection must not be used.
      client.query(`${NULLS}; ${PLANNING}; ${DURABLE}; ${limits(statementMs)}`).catch(() => {
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

  /**
   * Runs `work` in a transaction. Resolves when it is durable; rejects with `OutcomeUnknown` if that cannot be
   * determined, and at once while commits wait for a standby.
   */
  async write<Result>(work: (connection: Connection) => Promise<Written<Result>>): Promise<Result> {
    this.#standbyWait.refuse();
    const { result, transaction, lost } = await this.#transact(work);
    this.#onServer(transaction.server);
    if (lost === null) return result;
    const transact: Transact = (look) => this.#transact(look);
    const observer: Observer = { use: (look) => this.use(look), transact };
    const onWait = (backend: number): void => this.#standbyWait.begin(backend, observer);
    await readBack(transaction, lost, { transact, onWait });
    return result;
  }

  async end(): Promise<void> {
    await this.#standbyWait.close();
    await this.#pool.end();
  }

  async #transact<Done extends { readonly ended?: Promise<unknown> }>(
    work: (connection: Connection) => Promise<Done>,
  ): Promise<Done & { readonly lost: unknown }> {
    return await this.#lend(async (connection, spoil) => {
      const begun = send(connection, "BEGIN ISOLATION LEVEL READ COMMITTED");
      const [done] = await together([work(connection), begun]).catch(async (error: unknown) => {
        // Release the locks before repeating, because the server notices a closed connection late.
        if (!breaksConnection(error)) await send(connection, "ROLLBACK").catch(() => undefined);
        throw error;
      });
      const lost = await (done.ended ?? commit(connection));
      if (lost !== null) spoil();
      return { ...done, lost };
    });
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

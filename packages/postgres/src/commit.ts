// Commits, and determines the outcome of a transaction whose connection broke during its COMMIT, or whose wait
// for a synchronous standby was cut.
//
// PostgreSQL writes the commit record before it waits for a synchronous standby, and whatever ends that wait
// (the end or the cancel of the backend, a restart of the server) leaves the transaction committed on the
// primary alone: other transactions see it, and a failover loses it (syncrep.c). So neither a COMMIT that
// succeeded with a warning nor the status "committed" means durable. A later commit on the same server that
// waited for the standby does, because standbys receive the log in order.

import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "pg";
import { storeUnavailable, storeUncertain } from "@colloquy/engine/internal/store/unavailable";
import { isAnswer, isRefusal } from "./failures.ts";
import { prepare, send, type Connection } from "./statement.ts";

/** Identity of a transaction, to look it up after its connection broke. */
export interface TransactionName {
  readonly id: string;
  /** Process id of the server's backend. */
  readonly backend: number;
  /** When the server started, which tells it from one that was promoted in its place. */
  readonly server: string;
  /**
   * The server's last checkpoint. A crashed server makes one during recovery, and may reuse ids that had not
   * reached its log.
   */
  readonly checkpoint: string;
}

/** Maximum milliseconds of the lookup, and the pause between two attempts. */
const ASKED_MS = 3000;
const PAUSE_MS = 100;

export const SERVER = "extract(epoch FROM pg_postmaster_start_time())::text";
export const LAST_CHECKPOINT = "(SELECT checkpoint_lsn::text FROM pg_control_checkpoint())";

/**
 * SQL that makes the COMMIT of a transaction wait for the synchronous standbys, even if it changes no row:
 * PostgreSQL waits only for transactions that have written to the log.
 */
export const BARRIER =
  "CASE WHEN current_setting('synchronous_standby_names') <> '' THEN pg_logical_emit_message(true, 'colloquy', '')::text END";

type Status = "committed" | "aborted" | "in progress" | "elsewhere";

interface LookedUp {
  readonly status: Status | null;
  /** Whether the transaction waits for a standby. */
  readonly waits: boolean;
  /** Process id of the backend that looks. */
  readonly backend: number;
}

// Terminates a backend that has not noticed the broken connection and waits for its client, so that its
// transaction ends. A backend that does anything else may be about to wait for a standby.
const lookUp = prepare<[string, number, string, string], LookedUp>(
  `SELECT status, pg_backend_pid() AS backend,
     coalesce(status = 'in progress' AND wait_event = 'SyncRep', false) AS waits,
     CASE WHEN status = 'in progress' AND state LIKE 'idle in transaction%' AND wait_event = 'ClientRead' THEN pg_terminate_backend($2::integer) END AS told,
     CASE WHEN status = 'committed' THEN ${BARRIER} END AS barrier
   FROM (SELECT CASE WHEN ${SERVER} = $3 AND ${LAST_CHECKPOINT} = $4 THEN pg_xact_status($1::text::xid8) ELSE 'elsewhere' END AS status) AS asked
   LEFT JOIN pg_stat_activity ON pid = $2::integer`,
);

/** The commit took effect on this server, and perhaps on no other. */
class NotReplicated extends Error {
  constructor(reason: string) {
    super(`The database reported at a COMMIT: ${reason}`);
    this.name = "NotReplicated";
  }
}

/**
 * Sends COMMIT behind pending writes: if one of them fails in the server, the COMMIT becomes a ROLLBACK.
 * Returns the error if the connection broke, or if the COMMIT succeeded with a warning, so that the outcome is
 * unknown; rejects if nothing was committed.
 */
export async function commit(
  connection: Connection,
  writes: Promise<void> = Promise.resolve(),
): Promise<unknown> {
  const warnings = watchWarnings(connection);
  const [written, ended] = await Promise.allSettled([writes, send(connection, "COMMIT")]);
  const [warning] = warnings.stop();
  if (written.status === "rejected") {
    if (isAnswer(written.reason)) throw written.reason;
    return written.reason;
  }
  if (ended.status === "rejected") {
    if (isRefusal(ended.reason)) throw ended.reason;
    return ended.reason;
  }
  const { command } = ended.value;
  if (command !== "COMMIT") throw new Error(`A transaction ended with ${command} in place of COMMIT`);
  return warning === undefined ? null : new NotReplicated(warning);
}

/** Class of SQLSTATEs that only inform. */
const SUCCESSFUL = "00";

/** Collects the texts of the server's warnings. A warning of an earlier statement only costs a lookup. */
function watchWarnings(connection: Connection): { stop(): readonly string[] } {
  const texts: string[] = [];
  if (!(connection instanceof Client)) return { stop: () => texts };
  const note = ({
    code,
    message,
  }: {
    readonly code?: string | undefined;
    readonly message?: string | undefined;
  }) => {
    if (code?.startsWith(SUCCESSFUL) !== true) texts.push(message ?? "");
  };
  connection.on("notice", note);
  return {
    stop: () => {
      connection.off("notice", note);
      return texts;
    },
  };
}

/**
 * Runs a transaction. `ended` is the promise of `commit`, if `work` has called it; `lost` is the error of a
 * commit of unknown outcome, `null` for one that is durable.
 */
export type Transact = <Done extends { readonly ended?: Promise<unknown> }>(
  work: (connection: Connection) => Promise<Done>,
) => Promise<Done & { readonly lost: unknown }>;

export interface ReadBackOptions {
  readonly transact: Transact;
  /** Called with the process id of a backend whose commit waits for a standby. */
  readonly onWait: (backend: number) => void;
}

/**
 * Looks up a transaction whose commit ended with `error`: resolves if it is committed, and on the standbys.
 * Rejects with `Unavailable` if it was rolled back, or with `OutcomeUnknown` if the database does not answer
 * in time, the standbys do not have the transaction in time, or the server may have crashed or is another
 * one.
 */
export async function readBack(
  { id, backend, server, checkpoint }: TransactionName,
  error: unknown,
  { transact, onWait }: ReadBackOptions,
): Promise<void> {
  const deadline = performance.now() + ASKED_MS;
  while (performance.now() < deadline) {
    const seen: LookedUp[] = [];
    // The lookup and its barrier share a transaction, because after a failover the next one may reach another
    // server.
    const looking = transact(async (connection) => {
      const row = await lookUp.get(connection, id, backend, server, checkpoint);
      if (row !== undefined) seen.push(row);
      return {};
    });
    const isDurable = await Promise.race([
      looking.then(
        ({ lost }) => lost === null,
        () => false,
      ),
      sleep(deadline - performance.now(), false, { ref: false }),
    ]);
    const [found] = seen;
    if (found?.waits === true) onWait(backend);
    if (found?.status === "aborted") throw storeUnavailable(error);
    if (found?.status === "elsewhere") break;
    if (found?.status === "committed") {
      if (isDurable) return;
      onWait(found.backend);
    }
    await sleep(PAUSE_MS);
  }
  throw storeUncertain(error);
}

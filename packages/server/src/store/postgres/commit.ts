// Commits, and determines the outcome of a transaction whose connection broke during its COMMIT.

import { setTimeout as sleep } from "node:timers/promises";
import { storeUnavailable, storeUncertain } from "../unavailable.ts";
import { isAnswer, isRefusal } from "./failures.ts";
import { prepare, send, type Connection } from "./statement.ts";

/** Identity of a transaction, to look it up after its connection broke. */
export interface TransactionName {
  readonly id: string;
  /** Process id of the server's backend. */
  readonly backend: number;
  /**
   * The server's last checkpoint. A crashed server makes one during recovery, and may reuse ids that had not
   * reached its log.
   */
  readonly checkpoint: string;
}

/** Maximum milliseconds of the lookup, and the pause between two attempts. */
const ASKED_MS = 3000;
const PAUSE_MS = 100;

export const LAST_CHECKPOINT = "(SELECT checkpoint_lsn::text FROM pg_control_checkpoint())";

// Terminate a backend that has not noticed the broken connection, so that its transaction ends.
const endOf = prepare<
  [string, number, string],
  { readonly status: "committed" | "aborted" | "in progress" | "other checkpoint" | null }
>(
  `SELECT status, CASE WHEN status = 'in progress' THEN pg_terminate_backend($2::integer) END AS told
   FROM (SELECT CASE WHEN ${LAST_CHECKPOINT} = $3 THEN pg_xact_status($1::text::xid8) ELSE 'other checkpoint' END AS status) AS asked`,
);

/**
 * Sends COMMIT behind pending writes: if one of them fails in the server, the COMMIT becomes a ROLLBACK.
 * Returns the error if the connection broke, so that the outcome is unknown; rejects if nothing was
 * committed.
 */
export async function commit(
  connection: Connection,
  writes: Promise<void> = Promise.resolve(),
): Promise<unknown> {
  const [written, ended] = await Promise.allSettled([writes, send(connection, "COMMIT")]);
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
  return null;
}

/**
 * Looks up a transaction whose connection broke with `error`: resolves if it was committed. Rejects with
 * `Unavailable` if it was rolled back, or with `OutcomeUnknown` if the database does not answer in time or
 * has made a checkpoint, which may follow a crash.
 */
export async function readBack(
  { id, backend, checkpoint }: TransactionName,
  error: unknown,
  onAnother: <Result>(ask: (connection: Connection) => Promise<Result>) => Promise<Result>,
): Promise<void> {
  const deadline = performance.now() + ASKED_MS;
  while (performance.now() < deadline) {
    const ask = (connection: Connection) => endOf.get(connection, id, backend, checkpoint);
    const answer = await onAnother(ask).catch(() => undefined);
    if (answer?.status === "committed") return;
    if (answer?.status === "aborted") throw storeUnavailable(error);
    if (answer?.status === "other checkpoint") break;
    await sleep(PAUSE_MS);
  }
  throw storeUncertain(error);
}

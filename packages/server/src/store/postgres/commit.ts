// The end of a transaction, also when its connection breaks just then: nothing is answered before it is known how it ended.

import { setTimeout as sleep } from "node:timers/promises";
import { storeUnavailable, storeUncertain } from "../unavailable.ts";
import { isAnswer, isRefusal } from "./failures.ts";
import { prepare, send, type Connection } from "./statement.ts";

/** How a transaction is found again. */
export interface TransactionName {
  readonly id: string;
  /** Process of the server that runs it. */
  readonly backend: number;
  /**
   * The server's last checkpoint when it ran. A server that has crashed makes one before it is back, and gives out again the ids that had
   * not reached its log: then the id and the process say nothing any more.
   */
  readonly checkpoint: string;
}

/** Milliseconds for which the database is asked, and those between two times. */
const ASKED_MS = 3000;
const PAUSE_MS = 100;

export const LAST_CHECKPOINT = "(SELECT checkpoint_lsn::text FROM pg_control_checkpoint())";

// A server that has not noticed yet that nobody listens is told to end it: then it is one or the other.
const endOf = prepare<
  [string, number, string],
  { readonly status: "committed" | "aborted" | "in progress" | "other checkpoint" | null }
>(
  `SELECT status, CASE WHEN status = 'in progress' THEN pg_terminate_backend($2::integer) END AS told
   FROM (SELECT CASE WHEN ${LAST_CHECKPOINT} = $3 THEN pg_xact_status($1::text::xid8) ELSE 'other checkpoint' END AS status) AS asked`,
);

/**
 * Commits behind writes that are under way: where one of them fails in the server, it makes a ROLLBACK of the COMMIT. Answers the error when
 * the connection broke meanwhile, so that nobody knows; rejects when nothing was committed.
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
 * Asks what became of a transaction whose connection broke with `error`: resolves when it was committed, rejects with `Unavailable` when
 * it was not, or when nobody can say: in time, or after a checkpoint, behind which there may have been a crash.
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

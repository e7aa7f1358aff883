// The end of a transaction, also when its connection breaks just then: nothing is answered before it is known how it ended.

import { setTimeout as sleep } from "node:timers/promises";
import { storeUnavailable, storeUncertain } from "../unavailable.ts";
import type { Connection } from "./connections.ts";
import { isRefusal } from "./failures.ts";
import { prepare } from "./statement.ts";

/** How often the database is asked, and the milliseconds between two times. */
const TIMES_ASKED = 30;
const PAUSE_MS = 100;

const statusOf = prepare<[string], { readonly status: "committed" | "aborted" | "in progress" | null }>(
  "SELECT pg_xact_status($1::text::xid8) AS status",
);

/** Commits. Answers the error when the connection broke meanwhile, so that nobody knows; rejects when nothing was committed. */
export async function commit(connection: Connection): Promise<unknown> {
  try {
    const { command } = await connection.query("COMMIT");
    if (command !== "COMMIT") throw new Error(`A transaction ended with ${command} in place of COMMIT`);
    return null;
  } catch (error) {
    if (isRefusal(error)) throw error;
    return error;
  }
}

/**
 * Asks what became of a transaction whose connection broke with `error`: resolves when it was committed, rejects with `Unavailable` when
 * it was not, or when nobody can say in time.
 */
export async function readBack(
  transactionId: string,
  error: unknown,
  onAnother: <Result>(ask: (connection: Connection) => Promise<Result>) => Promise<Result>,
): Promise<void> {
  for (let times = 0; times < TIMES_ASKED; times += 1) {
    if (times > 0) await sleep(PAUSE_MS);
    const status = await onAnother(async (connection) => {
      const row = await statusOf.get(connection, transactionId);
      return row?.status ?? null;
    }).catch(() => "unknown" as const);
    if (status === "committed") return;
    if (status === "aborted") throw storeUnavailable(error);
  }
  throw storeUncertain(error);
}

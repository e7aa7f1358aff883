// Numbers that only the database gives out: its time, epochs, keys of sessions. One statement for all that a transaction may need.

import type { Connection } from "./connections.ts";
import { LAST_CHECKPOINT, type TransactionName } from "./commit.ts";
import { prepare } from "./statement.ts";

export interface Numbers {
  /** Milliseconds since the Unix epoch. */
  readonly at: number;
  readonly transaction: TransactionName;
  /** A number of the store-wide sequence, higher than every one that was taken before. */
  takeEpoch(): number;
  takeKey(): number;
}

/** The time that a statement is given as this parameter, else the database's, in milliseconds since the Unix epoch. */
export function timeGiven(parameter: string): string {
  return `coalesce(${parameter}::bigint, floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint)`;
}

/** What is taken and not used is never used: gaps are fine. */
const take = prepare<
  [number, number],
  {
    readonly at: number;
    readonly id: string;
    readonly backend: number;
    readonly checkpoint: string;
    readonly epochs: string;
    readonly keys: string;
  }
>(
  `SELECT floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint AS at, pg_current_xact_id()::text AS id,
     pg_backend_pid() AS backend, ${LAST_CHECKPOINT} AS checkpoint,
     array_to_string(ARRAY(SELECT nextval('epochs') FROM generate_series(1, $1::integer)), ' ') AS epochs,
     array_to_string(ARRAY(SELECT nextval('session_keys') FROM generate_series(1, $2::integer)), ' ') AS keys`,
);

export async function takeNumbers(
  connection: Connection,
  count: { readonly epochs: number; readonly keys: number },
): Promise<Numbers> {
  const row = await take.get(connection, count.epochs, count.keys);
  if (row === undefined) throw new Error("The database gave no numbers");
  return {
    at: row.at,
    transaction: { id: row.id, backend: row.backend, checkpoint: row.checkpoint },
    takeEpoch: giveOut("epochs", row.epochs),
    takeKey: giveOut("session keys", row.keys),
  };
}

function giveOut(what: string, list: string): () => number {
  const numbers = list === "" ? [] : list.split(" ").map(Number);
  const left = numbers.values();
  return () => {
    const { value } = left.next();
    if (value === undefined) throw new Error(`A transaction needs more ${what} than it took`);
    return value;
  };
}

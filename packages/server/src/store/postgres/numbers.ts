// Numbers that only the database gives out: its time, epochs, keys of sessions. One statement for all that a transaction may need.

import type { Connection } from "./connections.ts";
import { LAST_CHECKPOINT, type TransactionName } from "./commit.ts";
import { heldAmong } from "./session-locks.ts";
import { prepare } from "./statement.ts";

export interface Numbers {
  /** Milliseconds since the Unix epoch. */
  readonly at: number;
  readonly transaction: TransactionName;
  /** Ids of sessions that somebody else holds. */
  readonly held: readonly string[];
  /** A number of the store-wide sequence, higher than every one that was taken before. */
  takeEpoch(): number;
  takeKey(): number;
}

/** The time that a statement is given as this parameter, else the database's, in milliseconds since the Unix epoch. */
export function timeGiven(parameter: string): string {
  return `coalesce(${parameter}::bigint, floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint)`;
}

interface TakenRow {
  readonly at: number;
  readonly id: string;
  readonly backend: number;
  readonly checkpoint: string;
  readonly epochs: string;
  readonly keys: string;
  readonly held?: readonly string[];
}

/** What is taken and not used is never used: gaps are fine. */
const TAKE = `SELECT floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint AS at, pg_current_xact_id()::text AS id,
     pg_backend_pid() AS backend, ${LAST_CHECKPOINT} AS checkpoint,
     array_to_string(ARRAY(SELECT nextval('epochs') FROM generate_series(1, $1::integer)), ' ') AS epochs,
     array_to_string(ARRAY(SELECT nextval('session_keys') FROM generate_series(1, $2::integer)), ' ') AS keys`;
const take = prepare<[number, number], TakenRow>(TAKE);
const takeAndLook = prepare<[number, number, readonly string[], readonly string[]], TakenRow>(
  `${TAKE}, ${heldAmong("$3", "$4")} AS held`,
);

/** What a transaction takes at most, and which sessions it did not get. */
export interface Wanted {
  readonly epochs: number;
  readonly keys: number;
  /** Ids of sessions that it has not locked because they do not exist, or somebody else holds them. */
  readonly missing: readonly string[];
  /** Those of them that begin their life here if they do not exist. */
  readonly births: readonly string[];
}

export async function takeNumbers(connection: Connection, wanted: Wanted): Promise<Numbers> {
  const { epochs, keys, missing, births } = wanted;
  const row =
    missing.length === 0
      ? await take.get(connection, epochs, keys)
      : await takeAndLook.get(connection, epochs, keys, missing, births);
  if (row === undefined) throw new Error("The database gave no numbers");
  return {
    at: row.at,
    transaction: { id: row.id, backend: row.backend, checkpoint: row.checkpoint },
    held: row.held ?? [],
    takeEpoch: giveOut("epochs", row.epochs),
    takeKey: giveOut("session keys", row.keys),
  };
}

export const NO_NUMBERS: Wanted = { epochs: 0, keys: 0, missing: [], births: [] };

function giveOut(what: string, list: string): () => number {
  const numbers = list === "" ? [] : list.split(" ").map(Number);
  const left = numbers.values();
  return () => {
    const { value } = left.next();
    if (value === undefined) throw new Error(`A transaction needs more ${what} than it took`);
    return value;
  };
}

// What only the database says: its time, epochs, which sessions there are none of, and keys for those. One statement for all that a
// transaction may need.

import type { Connection } from "./connections.ts";
import { LAST_CHECKPOINT, type TransactionName } from "./commit.ts";
import { isAbsent, triesBirth } from "./session-locks.ts";
import { prepare } from "./statement.ts";

export interface Numbers {
  /** Milliseconds since the Unix epoch. */
  readonly at: number;
  readonly transaction: TransactionName;
  /** Those of the sessions looked for that do not exist, and do not begin their life here. */
  readonly absent: ReadonlySet<string>;
  /** Keys of those that do, if they are to; `null` where somebody else begins the life. */
  readonly unborn: ReadonlyMap<string, number | null>;
  /** A number of the store-wide sequence, higher than every one that was taken before. */
  takeEpoch(): number;
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
  readonly absent?: readonly string[];
  readonly unborn?: Readonly<Record<string, number | null>> | null;
}

/** What is taken and not used is never used: gaps are fine. */
const TAKE = `SELECT floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint AS at, pg_current_xact_id()::text AS id,
     pg_backend_pid() AS backend, ${LAST_CHECKPOINT} AS checkpoint,
     array_to_string(ARRAY(SELECT nextval('epochs') FROM generate_series(1, $1::integer)), ' ') AS epochs`;
const take = prepare<[number], TakenRow>(TAKE);
const takeAndLook = prepare<[number, readonly string[], readonly string[]], TakenRow>(
  `${TAKE},
     ARRAY(SELECT id FROM unnest($2::text[]) AS existing (id) WHERE ${isAbsent("existing.id")}) AS absent,
     (SELECT json_object_agg(id, CASE WHEN ${triesBirth("id")} THEN nextval('session_keys') END)
      FROM unnest($3::text[]) AS born (id) WHERE ${isAbsent("born.id")}) AS unborn`,
);

/** What a transaction takes at most, and which sessions it looks for. */
export interface Wanted {
  readonly epochs: number;
  /** Ids of sessions that have to exist. */
  readonly existing: readonly string[];
  /** Ids of those that begin their life here if they do not. */
  readonly births: readonly string[];
}

export async function takeNumbers(connection: Connection, wanted: Wanted): Promise<Numbers> {
  const { epochs, existing, births } = wanted;
  const row =
    existing.length + births.length === 0
      ? await take.get(connection, epochs)
      : await takeAndLook.get(connection, epochs, existing, births);
  if (row === undefined) throw new Error("The database gave no numbers");
  return {
    at: row.at,
    transaction: { id: row.id, backend: row.backend, checkpoint: row.checkpoint },
    absent: new Set(row.absent),
    unborn: new Map(Object.entries(row.unborn ?? {})),
    takeEpoch: giveOut(row.epochs),
  };
}

export const NO_NUMBERS: Wanted = { epochs: 0, existing: [], births: [] };

function giveOut(list: string): () => number {
  const numbers = list === "" ? [] : list.split(" ").map(Number);
  const left = numbers.values();
  return () => {
    const { value } = left.next();
    if (value === undefined) throw new Error("A transaction needs more epochs than it took");
    return value;
  };
}

// One statement for everything that a transaction needs in addition to facts: time, epochs, missing sessions,
// and new keys.

import type { Connection } from "./connections.ts";
import { BARRIER, LAST_CHECKPOINT, SERVER, type TransactionName } from "./commit.ts";
import { isAbsent, triesBirth } from "./session-locks.ts";
import { prepare } from "./statement.ts";

export interface Numbers {
  /** Milliseconds since the Unix epoch. */
  readonly at: number;
  readonly transaction: TransactionName;
  /** Requested sessions that do not exist and are not created here. */
  readonly absent: ReadonlySet<string>;
  /** Keys for the sessions to create; `null` if another node is creating the session. */
  readonly unborn: ReadonlyMap<string, number | null>;
  /** Time until which a session to create counts as deleted, in milliseconds since the Unix epoch. */
  readonly deletedUntil: ReadonlyMap<string, number>;
  /** Takes the next number of the store-wide sequence. */
  takeEpoch(): number;
}

interface TakenRow extends TransactionName {
  readonly at: number;
  readonly epochs: string;
  readonly absent?: readonly string[];
  readonly unborn?: Readonly<Record<string, number | null>> | null;
  readonly deleted?: Readonly<Record<string, number>> | null;
}

/**
 * Takes numbers from the sequences. Unused numbers leave gaps. The barrier makes an answer that rests on a
 * read, such as that of a repeated chat, wait for the standbys: what it read may be committed on this server
 * alone.
 */
const TAKE = `SELECT floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint AS at, pg_current_xact_id()::text AS id,
     pg_backend_pid() AS backend, ${SERVER} AS server, ${LAST_CHECKPOINT} AS checkpoint, ${BARRIER} AS barrier,
     array_to_string(ARRAY(SELECT nextval('epochs') FROM generate_series(1, $1::integer)), ' ') AS epochs`;
const take = prepare<[number], TakenRow>(TAKE);
const takeAndLook = prepare<[number, readonly string[], readonly string[]], TakenRow>(
  `${TAKE},
     ARRAY(SELECT id FROM unnest($2::text[]) AS existing (id) WHERE ${isAbsent("existing.id")}) AS absent,
     (SELECT json_object_agg(id, CASE WHEN ${triesBirth("id")} THEN nextval('session_keys') END)
      FROM unnest($3::text[]) AS born (id) WHERE ${isAbsent("born.id")}) AS unborn,
     (SELECT json_object_agg(id, until) FROM deleted_sessions WHERE id = ANY($3::text[])) AS deleted`,
);

export interface Wanted {
  /** Upper bound of the epochs that the transaction takes. */
  readonly epochs: number;
  /** Ids of sessions that must exist. */
  readonly existing: readonly string[];
  /** Ids of sessions to create if they do not exist. */
  readonly births: readonly string[];
}

export async function takeNumbers(connection: Connection, wanted: Wanted): Promise<Numbers> {
  const { epochs, existing, births } = wanted;
  const row =
    existing.length + births.length === 0
      ? await take.get(connection, epochs)
      : await takeAndLook.get(connection, epochs, existing, births);
  if (row === undefined) throw new Error("The database returned no numbers");
  return {
    at: row.at,
    transaction: { id: row.id, backend: row.backend, server: row.server, checkpoint: row.checkpoint },
    absent: new Set(row.absent),
    unborn: new Map(Object.entries(row.unborn ?? {})),
    deletedUntil: new Map(Object.entries(row.deleted ?? {})),
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

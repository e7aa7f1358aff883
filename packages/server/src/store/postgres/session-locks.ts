// Locks on sessions: what every transaction takes first, in the order of their ids. A transaction of many passes over those that somebody else
// holds, so that nobody waits for a session that is not his.

import type { SessionRow } from "../rows.ts";
import { SESSION } from "./columns.ts";
import type { Connection } from "./connections.ts";
import { prepare, together } from "./statement.ts";

export type SoughtSessions = { readonly ids: readonly string[] } | { readonly keys: readonly number[] };

/** Whether a transaction waits for sessions that another one holds, or leaves them. */
export type Patience = "waits" | "passes over";

const BY_ID = `SELECT ${SESSION} FROM sessions WHERE id = ANY($1::text[]) ORDER BY id FOR UPDATE`;
const BY_KEY = `SELECT ${SESSION} FROM sessions WHERE key = ANY($1::bigint[]) ORDER BY id FOR UPDATE`;
const byId = {
  waits: prepare<[readonly string[]], SessionRow>(BY_ID),
  "passes over": prepare<[readonly string[]], SessionRow>(`${BY_ID} SKIP LOCKED`),
};
const byKey = {
  waits: prepare<[readonly number[]], SessionRow>(BY_KEY),
  "passes over": prepare<[readonly number[]], SessionRow>(`${BY_KEY} SKIP LOCKED`),
};

/** Locks sessions in the order of their ids. Those that do not exist are not among the answers, nor those that were passed over. */
export function lockSessions(
  connection: Connection,
  sessions: SoughtSessions,
  patience: Patience,
): Promise<readonly SessionRow[]> {
  return "ids" in sessions
    ? byId[patience].all(connection, sessions.ids)
    : byKey[patience].all(connection, sessions.keys);
}

/** Sets the locks of lives that begin apart from others in the database. */
const BIRTHS = 20_482;

/** Whether there is no session whose id is `column`: one look into the index, however many sessions there are. */
export function isAbsent(column: string): string {
  return `(SELECT 1 FROM sessions WHERE sessions.id = ${column}) IS NULL`;
}

/** Tries to be who begins the life of the session whose id is `column`, until the end of the transaction. */
export function triesBirth(column: string): string {
  return `pg_try_advisory_xact_lock(${BIRTHS}, hashtext(${column}))`;
}

// A row that is being inserted is seen by nobody else, who would wait for it at the end of a transaction, with the locks of all others.
const lockBirths = prepare<[readonly string[]]>(
  `SELECT pg_advisory_xact_lock(${BIRTHS}, hash) FROM
     (SELECT DISTINCT hashtext(id) AS hash FROM unnest($1::text[]) AS born (id) WHERE ${isAbsent("born.id")} ORDER BY hash) AS hashes`,
);

/**
 * As `lockSessions`, where those of `births` begin their life if there are none: whoever waits does so too until nobody else begins one of
 * them, and keeps others from it. All of it is sent when this returns its promise.
 */
export async function lockOrBegin(
  connection: Connection,
  ids: readonly string[],
  births: readonly string[],
  patience: Patience,
): Promise<readonly SessionRow[]> {
  const locked = lockSessions(connection, { ids }, patience);
  if (patience === "passes over" || births.length === 0) return await locked;
  // Whoever was about to begin the life of one of them has done so behind the second lock, and then it is there for the third.
  const [, , rows] = await together([
    locked,
    lockBirths.run(connection, births),
    lockSessions(connection, { ids }, patience),
  ]);
  return rows;
}

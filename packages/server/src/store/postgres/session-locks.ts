// Locks on sessions: what every transaction takes first, in the order of their ids. A transaction of many passes over those that somebody else
// holds, so that nobody waits for a session that is not his.

import type { SessionRow } from "../rows.ts";
import { SESSION } from "./columns.ts";
import type { Connection } from "./connections.ts";
import { prepare } from "./statement.ts";

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

// A row that is being inserted is seen by nobody else, who would wait for it at the end of a transaction, with the locks of all others.
const lockBirth = prepare<[readonly string[]]>(
  `SELECT pg_advisory_xact_lock(${BIRTHS}, hash) FROM
     (SELECT DISTINCT hashtext(id) AS hash FROM unnest($1::text[]) AS born (id) ORDER BY hash) AS hashes`,
);

/** Waits until nobody else begins a life of these sessions, and keeps others from it until the end of the transaction. */
export async function lockBirths(connection: Connection, ids: readonly string[]): Promise<void> {
  await lockBirth.run(connection, ids);
}

/**
 * What of the sessions that were sought and not locked ($`sought`) somebody else holds, as a list of ids: those that are there all the same,
 * and those that somebody begins the life of while this transaction wants to, too ($`births`); the births of the others are its own.
 */
export function heldAmong(sought: string, births: string): string {
  return `ARRAY(
    SELECT id FROM sessions WHERE id = ANY(${sought}::text[])
    UNION ALL
    SELECT id FROM unnest(${births}::text[]) AS born (id) WHERE NOT pg_try_advisory_xact_lock(${BIRTHS}, hashtext(id)))`;
}

// Locks on sessions, which every transaction takes first, in the order of their ids. A transaction of many
// sessions skips locked ones, so that no call waits for the lock of another session.

import type { SessionRow } from "@colloquy/engine/internal/store/rows";
import { SESSION } from "@colloquy/engine/internal/store/columns";
import type { Connection } from "./connections.ts";
import { prepare, together } from "./statement.ts";

export type SoughtSessions = { readonly ids: readonly string[] } | { readonly keys: readonly number[] };

/** Whether a transaction waits for locked sessions or skips them. */
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

/** Locks sessions in the order of their ids. Returns only those that exist and were not skipped. */
export function lockSessions(
  connection: Connection,
  sessions: SoughtSessions,
  patience: Patience,
): Promise<readonly SessionRow[]> {
  return "ids" in sessions
    ? byId[patience].all(connection, sessions.ids)
    : byKey[patience].all(connection, sessions.keys);
}

/** First key of the advisory locks on sessions that are being created. */
const BIRTHS = 20_482;

/**
 * Returns the SQL condition that no session has the id in `column`. It costs one index lookup, however many
 * sessions there are.
 */
export function isAbsent(column: string): string {
  return `(SELECT 1 FROM sessions WHERE sessions.id = ${column}) IS NULL`;
}

/**
 * Returns SQL that tries to lock the creation of the session with the id in `column` until the transaction
 * ends.
 */
export function triesBirth(column: string): string {
  return `pg_try_advisory_xact_lock(${BIRTHS}, hashtext(${column}))`;
}

// Locks creation before any insert: other transactions cannot see an uncommitted insert, and would block on
// it when they commit, with all their locks held.
const lockBirths = prepare<[readonly string[]]>(
  `SELECT pg_advisory_xact_lock(${BIRTHS}, hash) FROM
     (SELECT DISTINCT hashtext(id) AS hash FROM unnest($1::text[]) AS born (id) WHERE ${isAbsent("born.id")} ORDER BY hash) AS hashes`,
);

/**
 * Like `lockSessions`, but creates missing sessions in `births`; with "waits", it also locks their creation.
 * Sends all statements before it returns its promise.
 */
export async function lockOrBegin(
  connection: Connection,
  ids: readonly string[],
  births: readonly string[],
  patience: Patience,
): Promise<readonly SessionRow[]> {
  const locked = lockSessions(connection, { ids }, patience);
  if (patience === "passes over" || births.length === 0) return await locked;
  // A session that another node was creating exists once the second lock is taken, and the third statement
  // locks it.
  const [, , rows] = await together([
    locked,
    lockBirths.run(connection, births),
    lockSessions(connection, { ids }, patience),
  ]);
  return rows;
}

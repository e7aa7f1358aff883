// Removing lives of sessions: every table that has rows of them, one indexed delete each.

import type { Connection } from "./connections.ts";
import { TABLES_OF_SESSIONS } from "../rows.ts";
import { prepare } from "./statement.ts";
import { together } from "./together.ts";

const removals = TABLES_OF_SESSIONS.map(
  (table): string => `DELETE FROM ${table} WHERE session_key = ANY($1::bigint[])`,
)
  .concat("DELETE FROM sessions WHERE key = ANY($1::bigint[])")
  .map((text) => prepare<[readonly number[]]>(text));

/** Removes all that belongs to the sessions with these keys, which are locked. */
export async function removeSessions(connection: Connection, keys: readonly number[]): Promise<void> {
  if (keys.length > 0) await together(removals.map((removal) => removal.run(connection, keys)));
}

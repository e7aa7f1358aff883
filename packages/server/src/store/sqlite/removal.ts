// Removing a life of a session: every table that has rows of it, one indexed delete each.

import type { DatabaseSync } from "node:sqlite";
import { TABLES_OF_SESSIONS } from "../rows.ts";
import { prepare } from "./statement.ts";

/** Removes all that belongs to the session with this key. */
export type RemoveSession = (key: number) => void;

export function prepareRemoval(database: DatabaseSync): RemoveSession {
  const children = TABLES_OF_SESSIONS.map((table) =>
    prepare<[number]>(database, `DELETE FROM ${table} WHERE session_key = ?`),
  );
  const session = prepare<[number]>(database, "DELETE FROM sessions WHERE key = ?");
  return (key) => {
    for (const child of children) child.run(key);
    session.run(key);
  };
}

// The row of a session: its columns, in one place, and how they are written.

import type { DatabaseSync } from "node:sqlite";
import type { SessionRecord } from "../../core/session.ts";
import { CHANGING_COLUMNS, changingCells, LASTING_COLUMNS, lastingCells } from "../session-cells.ts";
import { prepare } from "./statement.ts";

/** Writes a session as it is after a transaction at `at`, which also is its last use. `before` is `null` for a new one. */
export type WriteSession = (before: SessionRecord | null, session: SessionRecord, at: number) => void;

export function prepareSessionWriter(database: DatabaseSync): WriteSession {
  const columns = [...CHANGING_COLUMNS, ...LASTING_COLUMNS];
  const insert = database.prepare(
    `INSERT INTO sessions (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`,
  );
  const update = database.prepare(
    `UPDATE sessions SET ${CHANGING_COLUMNS.map((column) => `${column} = ?`).join(", ")} WHERE key = ?`,
  );
  const noteUse = prepare<[number, number]>(database, "UPDATE sessions SET used_at = ? WHERE key = ?");
  return (before, session, at) => {
    if (before === null) {
      insert.run(...changingCells(session, at), ...lastingCells(session));
    } else if (before === session) {
      noteUse.run(at, session.key);
    } else {
      update.run(...changingCells(session, at), session.key);
    }
  };
}

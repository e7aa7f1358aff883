// What is known of a move into this database. Its table is made by the first move, not by a migration: most databases never have one.

import type { DatabaseSync } from "node:sqlite";
import type { MoveNote } from "../../core/ports/driven/table-store.ts";
import { UNFINISHED_MOVE } from "../migrations.ts";
import { prepare } from "./statement.ts";

/** Also where nothing was ever in the database. */
export function isMoveUnfinished(database: DatabaseSync): boolean {
  return has(database, "schema_migrations") && isClosed(database);
}

export function readMoveNote(database: DatabaseSync): MoveNote | null {
  if (!has(database, "moves")) return null;
  const row = prepare<[], { readonly note: string }>(database, "SELECT note FROM moves").get();
  return row === undefined ? null : { isFinished: !isClosed(database), text: row.note };
}

/** To be called in a transaction. */
export function writeMoveNote(database: DatabaseSync, { isFinished, text }: MoveNote): void {
  database.exec(
    "CREATE TABLE IF NOT EXISTS moves (one INTEGER PRIMARY KEY CHECK (one = 1), note TEXT NOT NULL) STRICT",
  );
  prepare<[string]>(database, "INSERT OR REPLACE INTO moves (one, note) VALUES (1, ?)").run(text);
  const mark = isFinished
    ? "DELETE FROM schema_migrations WHERE version = ?"
    : "INSERT OR IGNORE INTO schema_migrations (version, name, applied_at) VALUES (?, 'unfinished move', 0)";
  prepare<[number]>(database, mark).run(UNFINISHED_MOVE);
}

function isClosed(database: DatabaseSync): boolean {
  const mark = prepare<[number]>(database, "SELECT 1 FROM schema_migrations WHERE version = ?");
  return mark.get(UNFINISHED_MOVE) !== undefined;
}

function has(database: DatabaseSync, table: string): boolean {
  return prepare<[string]>(database, "SELECT 1 FROM sqlite_schema WHERE name = ?").get(table) !== undefined;
}

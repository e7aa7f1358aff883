// What is known of a move into this database. Its table is made by the first move, not by a migration: most databases never have one.

import type { MoveNote } from "../../core/ports/driven/table-store.ts";
import { UNFINISHED_MOVE } from "../migrations.ts";
import type { Connection } from "./connections.ts";
import { prepare, send } from "./statement.ts";

const known = prepare<[string], { readonly known: boolean }>("SELECT to_regclass($1) IS NOT NULL AS known");
const closed = prepare<[number]>("SELECT 1 FROM schema_migrations WHERE version = $1");
const note = prepare<[], { readonly note: string }>("SELECT note FROM moves");
const write = prepare<[string]>(
  "INSERT INTO moves (one, note) VALUES (1, $1) ON CONFLICT (one) DO UPDATE SET note = excluded.note",
);
const close = prepare<[number]>(
  "INSERT INTO schema_migrations (version, name, applied_at) VALUES ($1, 'unfinished move', 0) ON CONFLICT (version) DO NOTHING",
);
const open = prepare<[number]>("DELETE FROM schema_migrations WHERE version = $1");

/** Also where nothing was ever in the database. */
export async function isMoveUnfinished(connection: Connection): Promise<boolean> {
  return (await has(connection, "schema_migrations")) && (await isClosed(connection));
}

export async function readMoveNote(connection: Connection): Promise<MoveNote | null> {
  if (!(await has(connection, "moves"))) return null;
  const row = await note.get(connection);
  return row === undefined ? null : { isFinished: !(await isClosed(connection)), text: row.note };
}

/** To be called in a transaction. */
export async function writeMoveNote(connection: Connection, { isFinished, text }: MoveNote): Promise<void> {
  if (!(await has(connection, "moves"))) {
    await send(
      connection,
      "CREATE TABLE moves (one smallint PRIMARY KEY CHECK (one = 1), note text NOT NULL)",
    );
  }
  await write.run(connection, text);
  await (isFinished ? open : close).run(connection, UNFINISHED_MOVE);
}

async function isClosed(connection: Connection): Promise<boolean> {
  return (await closed.get(connection, UNFINISHED_MOVE)) !== undefined;
}

async function has(connection: Connection, table: string): Promise<boolean> {
  return (await known.get(connection, table))?.known === true;
}

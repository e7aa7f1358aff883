// Reads and writes rows, sequences and the state of a move, for moving data between stores.

import type { Extract, MoveNote, Table, TableWriter, Where } from "../core/ports/driven/table-store.ts";
import { UNFINISHED_MOVE } from "./migrations.ts";
import { prepare, type Value, type Work } from "./shared.ts";

// PostgreSQL's sequences have a final "s" that the names of both stores do not have.
const sequences = prepare<[], { readonly name: string; readonly value: number }>(
  (on) =>
    on.sqlite("SELECT name, value FROM sequences WHERE name <> 'probe' ORDER BY name") +
    on.postgres(
      `SELECT left(sequencename, -1) AS name, coalesce(last_value, 0) AS value FROM pg_sequences
       WHERE schemaname = current_schema() AND sequencename IN ('epochs', 'session_keys') ORDER BY sequencename COLLATE "C"`,
    ),
);
const raise = prepare<[string, number]>(
  (on) =>
    on.sqlite("UPDATE sequences SET value = max(value, $2) WHERE name = $1") +
    on.postgres(
      `SELECT setval(s.name::regclass, $2::bigint)
       FROM (SELECT quote_ident(sequencename) AS name, coalesce(last_value, 0) AS value FROM pg_sequences
             WHERE schemaname = current_schema() AND sequencename = $1::text || 's') AS s
       WHERE s.value < $2::bigint`,
    ),
);
const take = prepare<[string], { readonly value: number }>(
  (on) =>
    on.sqlite("UPDATE sequences SET value = value + 1 WHERE name = $1 RETURNING value") +
    on.postgres("SELECT nextval($1::text || 's') AS value"),
);

const tableNamed = prepare<[string], object>(
  (on) =>
    on.sqlite("SELECT 1 AS found FROM sqlite_schema WHERE type = 'table' AND name = $1") +
    on.postgres("SELECT 1 AS found WHERE to_regclass($1) IS NOT NULL"),
);
const noteOfMove = prepare<[], { readonly note: string }>("SELECT note FROM moves");
const createNotes = prepare<[]>(
  (on) =>
    `CREATE TABLE moves (one ${on.sqlite("INTEGER")}${on.postgres("smallint")} PRIMARY KEY CHECK (one = 1), note TEXT NOT NULL)
     ${on.sqlite("STRICT")}`,
);
const writeNote = prepare<[string]>(
  "INSERT INTO moves (one, note) VALUES (1, $1) ON CONFLICT (one) DO UPDATE SET note = excluded.note",
);
const mark = prepare<[number], object>("SELECT 1 AS found FROM schema_migrations WHERE version = $1");
const addMark = prepare<[number]>(
  `INSERT INTO schema_migrations (version, name, applied_at) VALUES ($1, 'unfinished move', 0)
   ON CONFLICT (version) DO NOTHING`,
);
const removeMark = prepare<[number]>("DELETE FROM schema_migrations WHERE version = $1");

/** Returns the methods of a database. `own` contains those that differ between databases. */
export function tableWriter(
  run: <Result>(work: Work<Result>) => Promise<Result>,
  own: Pick<TableWriter, "extract" | "insert">,
): TableWriter {
  return {
    ...own,
    count: (table) => run(countRows(table)),
    sequences: () => run(readSequences()),
    moveNote: () => run(readMoveNote()),
    remove: (table, where) => run(removeRows(table, where)),
    raise: (sequence, number) => run(raiseSequence(sequence, number)),
    take: (sequence) => run(takeNext(sequence)),
    noteMove: (note) => run(writeMoveNote(note)),
  };
}

function* countRows({ name }: Table): Work<number> {
  const count = prepare<[], { readonly count: number }>(`SELECT count(*) AS count FROM ${quoted(name)}`);
  return (yield* count.get())?.count ?? 0;
}

function* removeRows({ name }: Table, where: Where | null): Work<void> {
  const condition = where === null ? "" : ` WHERE ${quoted(where.column)} = $1`;
  yield* prepare<Value[]>(`DELETE FROM ${quoted(name)}${condition}`).run(
    ...(where === null ? [] : [where.value]),
  );
}

function* readSequences(): Work<Readonly<Record<string, number>>> {
  return Object.fromEntries((yield* sequences.all()).map(({ name, value }) => [name, value]));
}

function* raiseSequence(sequence: string, number: number): Work<void> {
  if (!Object.hasOwn(yield* readSequences(), sequence))
    throw new Error(`The database has no sequence ${sequence}`);
  yield* raise.run(sequence, number);
}

function* takeNext(sequence: string): Work<number> {
  const row = yield* take.get(sequence);
  if (row === undefined) throw new Error(`The database has no sequence ${sequence}`);
  return row.value;
}

/**
 * Returns true if a move into this database began and did not finish. An empty database has no table to ask.
 */
export function* isMoveUnfinished(): Work<boolean> {
  return (yield* hasTable("schema_migrations")) && (yield* isMarked());
}

/**
 * Returns the record of the last move into this database, or `null`. The first move creates the table,
 * because most databases never need it.
 */
function* readMoveNote(): Work<MoveNote | null> {
  const row = (yield* hasTable("moves")) ? yield* noteOfMove.get() : undefined;
  return row === undefined ? null : { isFinished: !(yield* isMarked()), text: row.note };
}

function* writeMoveNote({ isFinished, text }: MoveNote): Work<void> {
  if (!(yield* hasTable("moves"))) yield* createNotes.run();
  yield* writeNote.run(text);
  yield* (isFinished ? removeMark : addMark).run(UNFINISHED_MOVE);
}

function* isMarked(): Work<boolean> {
  return (yield* mark.get(UNFINISHED_MOVE)) !== undefined;
}

export function* hasTable(name: string): Work<boolean> {
  return (yield* tableNamed.get(name)) !== undefined;
}

/** SQL for a part of a table: its columns, its key, which rows it has, and the values of their parameters. */
export function partOf(table: Table, { after, where }: Pick<Extract, "after" | "where">) {
  const columns = table.columns.map(({ name }) => quoted(name)).join(", ");
  const key = table.key.map(quoted).join(", ");
  const first = table.key.map((_name, index) => `$${index + 1}`).join(", ");
  const conditions = [
    ...(after === null ? [] : [`(${key}) > (${first})`]),
    ...(where === undefined ? [] : [`${quoted(where.column)} = $${(after?.length ?? 0) + 1}`]),
  ];
  const rows = `${quoted(table.name)}${conditions.length === 0 ? "" : ` WHERE ${conditions.join(" AND ")}`} ORDER BY ${key}`;
  return { columns, key, rows, values: [...(after ?? []), ...(where === undefined ? [] : [where.value])] };
}

export function quoted(name: string): string {
  return `"${name}"`;
}

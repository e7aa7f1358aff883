// Tables of a database and their rows, for moving data between stores.

import type { DatabaseSync, StatementSync } from "node:sqlite";
import type {
  Column,
  Extract,
  MoveNote,
  Table,
  TableRow,
  TableWriter,
} from "../../core/ports/driven/table-store.ts";
import { UNFINISHED_MOVE } from "../migrations.ts";
import { type Prepare, prepareIn } from "./database.ts";

/** Tables about the database itself, whose rows are not moved. */
const BOOKKEEPING: ReadonlySet<string> = new Set(["schema_migrations", "sequences", "moves"]);

/** Returns the tables that survive a crash, with their columns and keys, by name. */
export function tablesOf(prepare: Prepare): readonly Table[] {
  const tables = prepare<[], { readonly name: string }>(
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~' ORDER BY name",
  );
  const columns = prepare<
    [string],
    { readonly name: string; readonly type: string; readonly notnull: number; readonly pk: number }
  >(`SELECT name, type, "notnull", pk FROM pragma_table_info(?) ORDER BY cid`);
  return tables
    .all()
    .filter(({ name }) => !BOOKKEEPING.has(name))
    .map(({ name }) => {
      const found = columns.all(name);
      return {
        name,
        columns: found.map((column): Column => {
          // An INTEGER PRIMARY KEY is never null, whatever the pragma says.
          const isOptional = column.notnull === 0 && column.pk === 0;
          return { name: column.name, kind: kindOf(name, column.name, column.type), isOptional };
        }),
        key: found
          .filter(({ pk }) => pk > 0)
          .toSorted((left, right) => left.pk - right.pk)
          .map((column) => column.name),
      };
    });
}

function kindOf(table: string, column: string, type: string): Column["kind"] {
  if (type === "INTEGER") return "number";
  if (type === "TEXT") return "text";
  throw new Error(`The column ${column} of the table ${table} has the type ${type}, which cannot be moved`);
}

/** All methods must be called in a transaction. */
export function prepareTables(database: DatabaseSync): TableWriter {
  const prepare = prepareIn(database);
  const statement = remembered(database);
  const sequences = prepare<[], { readonly name: string; readonly value: number }>(
    "SELECT name, value FROM sequences WHERE name <> 'probe' ORDER BY name",
  );
  const raise = prepare<[number, string]>("UPDATE sequences SET value = max(value, ?) WHERE name = ?");
  const take = prepare<[string], { readonly value: number }>(
    "UPDATE sequences SET value = value + 1 WHERE name = ? RETURNING value",
  );
  return {
    async count(table) {
      const [row] = statement(`SELECT count(*) FROM ${quoted(table.name)}`).all() as unknown as TableRow[];
      return Promise.resolve(Number(row?.[0]));
    },
    extract: (table, part) => Promise.resolve(extract(statement(textOf(table, part)), part)),
    sequences: () =>
      Promise.resolve(Object.fromEntries(sequences.all().map(({ name, value }) => [name, value]))),
    moveNote: () => Promise.resolve(readMoveNote(prepare)),
    async insert(table, rows) {
      const names = table.columns.map(({ name }) => quoted(name));
      const values = names.map(() => "?").join(", ");
      const insert = statement(`INSERT INTO ${quoted(table.name)} (${names.join(", ")}) VALUES (${values})`);
      for (const row of rows) insert.run(...row);
      await Promise.resolve();
    },
    async remove(table, where) {
      const condition = where === null ? "" : ` WHERE ${quoted(where.column)} = ?`;
      statement(`DELETE FROM ${quoted(table.name)}${condition}`).run(
        ...(where === null ? [] : [where.value]),
      );
      await Promise.resolve();
    },
    async raise(sequence, number) {
      if (raise.run(number, sequence) !== 1) throw new Error(`The database has no sequence ${sequence}`);
      await Promise.resolve();
    },
    async take(sequence) {
      const row = take.get(sequence);
      if (row === undefined) throw new Error(`The database has no sequence ${sequence}`);
      return Promise.resolve(row.value);
    },
    async noteMove(note) {
      writeMoveNote(prepare, note);
      await Promise.resolve();
    },
  };
}

/** Returns a function that prepares each statement once. Its rows are arrays. */
function remembered(database: DatabaseSync): (text: string) => StatementSync {
  const known = new Map<string, StatementSync>();
  return (text) => {
    const before = known.get(text);
    if (before !== undefined) return before;
    const statement = database.prepare(text);
    statement.setReturnArrays(true);
    known.set(text, statement);
    return statement;
  };
}

function textOf(table: Table, { after, where }: Extract): string {
  const columns = table.columns.map(({ name }) => quoted(name)).join(", ");
  const key = table.key.map(quoted).join(", ");
  const conditions = [
    ...(after === null ? [] : [`(${key}) > (${table.key.map(() => "?").join(", ")})`]),
    ...(where === undefined ? [] : [`${quoted(where.column)} = ?`]),
  ];
  const condition = conditions.length === 0 ? "" : ` WHERE ${conditions.join(" AND ")}`;
  return `SELECT ${columns} FROM ${quoted(table.name)}${condition} ORDER BY ${key}`;
}

function extract(statement: StatementSync, { after, where, rows, characters }: Extract): TableRow[] {
  const found: TableRow[] = [];
  let length = 0;
  for (const row of statement.iterate(...(after ?? []), ...(where === undefined ? [] : [where.value]))) {
    const cells = row as unknown as TableRow;
    found.push(cells);
    for (const cell of cells) length += typeof cell === "string" ? cell.length : 8;
    if (found.length >= rows || length >= characters) break;
  }
  return found;
}

function quoted(name: string): string {
  return `"${name}"`;
}

/**
 * Returns true if a move into this database began and did not finish. An empty database has no table to ask.
 */
export function isMoveUnfinished(prepare: Prepare): boolean {
  return has(prepare, "schema_migrations") && isClosed(prepare);
}

/**
 * Returns what the last move into this database noted, or `null` without one. The first move creates the
 * table, because most databases never need it.
 */
function readMoveNote(prepare: Prepare): MoveNote | null {
  if (!has(prepare, "moves")) return null;
  const row = prepare<[], { readonly note: string }>("SELECT note FROM moves").get();
  return row === undefined ? null : { isFinished: !isClosed(prepare), text: row.note };
}

function writeMoveNote(prepare: Prepare, { isFinished, text }: MoveNote): void {
  prepare<[]>(
    "CREATE TABLE IF NOT EXISTS moves (one INTEGER PRIMARY KEY CHECK (one = 1), note TEXT NOT NULL) STRICT",
  ).run();
  prepare<[string]>("INSERT OR REPLACE INTO moves (one, note) VALUES (1, ?)").run(text);
  const mark = isFinished
    ? "DELETE FROM schema_migrations WHERE version = ?"
    : "INSERT OR IGNORE INTO schema_migrations (version, name, applied_at) VALUES (?, 'unfinished move', 0)";
  prepare<[number]>(mark).run(UNFINISHED_MOVE);
}

function isClosed(prepare: Prepare): boolean {
  const mark = prepare<[number]>("SELECT 1 FROM schema_migrations WHERE version = ?");
  return mark.get(UNFINISHED_MOVE) !== undefined;
}

function has(prepare: Prepare, table: string): boolean {
  return prepare<[string]>("SELECT 1 FROM sqlite_schema WHERE name = ?").get(table) !== undefined;
}

// Rows of whatever table, read and written.

import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { Extract, Table, TableRow, TableWriter } from "../../core/ports/driven/table-store.ts";
import { readMoveNote, writeMoveNote } from "./move-note.ts";
import { prepare } from "./statement.ts";

/** Everything is to be called in a transaction. */
export function prepareTables(database: DatabaseSync): TableWriter {
  const statement = remembered(database);
  const sequences = prepare<[], { readonly name: string; readonly value: number }>(
    database,
    "SELECT name, value FROM sequences WHERE name <> 'probe' ORDER BY name",
  );
  const raise = prepare<[number, string]>(
    database,
    "UPDATE sequences SET value = max(value, ?) WHERE name = ?",
  );
  const take = prepare<[string], { readonly value: number }>(
    database,
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
    moveNote: () => Promise.resolve(readMoveNote(database)),
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
      writeMoveNote(database, note);
      await Promise.resolve();
    },
  };
}

/** Statements by their text, prepared once, which answer rows as arrays. */
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

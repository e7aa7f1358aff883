// Statements that write many rows at once: one array parameter per column, combined by `unnest`.

import type { Columns } from "@colloquy/engine/internal/core/field";
import type { ChangingTable } from "@colloquy/engine/internal/store/record-table";
import type { Connection } from "./connections.ts";
import { prepare, type Value } from "./statement.ts";

/** Values of one row, in the order of its columns. */
export type Row = readonly (string | number | null)[];

/** Sends a statement with its parameters. */
export type Write = (connection: Connection) => Promise<void>;

/**
 * Writes all rows in one statement; sends nothing without rows. Throws errors in values before it returns a
 * `Write`, except those of pg itself (statement.ts), because statements that are sent with a COMMIT must all
 * be sent.
 */
export type WriteRows = (rows: readonly Row[]) => Write;

/** Statements that insert and update the rows of a table. */
export function prepareTable(name: string, table: ChangingTable) {
  return {
    insert: prepareInsert(name, table.columns),
    update: prepareUpdate(name, table.changing, table.key),
  };
}

/** `onConflict` follows ON CONFLICT; empty omits the clause. */
export function prepareInsert(table: string, columns: Columns, onConflict = ""): WriteRows {
  const names = Object.keys(columns).map(quoted).join(", ");
  const conflict = onConflict === "" ? "" : ` ON CONFLICT ${onConflict}`;
  return prepareRows(
    `INSERT INTO ${table} (${names}) SELECT * FROM ${unnest(columns, 1)}${conflict}`,
    columns,
  );
}

/** Rows contain the values of `changing` first, then those of `keys`. */
export function prepareUpdate(table: string, changing: Columns, keys: Columns): WriteRows {
  const columns = { ...changing, ...keys };
  const names = Object.keys(columns).map(quoted).join(", ");
  const set = Object.keys(changing).map((name) => `${quoted(name)} = new.${quoted(name)}`);
  const where = Object.keys(keys).map((name) => `old.${quoted(name)} = new.${quoted(name)}`);
  return prepareRows(
    `UPDATE ${table} AS old SET ${set.join(", ")} FROM ${unnest(columns, 1)} AS new (${names})
     WHERE ${where.join(" AND ")}`,
    columns,
  );
}

/** `further` is a condition in addition to the equality of `keys`, on a row `old` and the values `given`. */
export function prepareDelete(
  table: string,
  keys: Columns,
  { also = {}, further = "" }: { readonly also?: Columns; readonly further?: string } = {},
): WriteRows {
  const columns = { ...keys, ...also };
  const names = Object.keys(columns).map(quoted).join(", ");
  const where = Object.keys(keys).map((name) => `old.${quoted(name)} = given.${quoted(name)}`);
  return prepareRows(
    `DELETE FROM ${table} AS old USING ${unnest(columns, 1)} AS given (${names})
     WHERE ${[...where, ...(further === "" ? [] : [further])].join(" AND ")}`,
    columns,
  );
}

function unnest(columns: Columns, first: number): string {
  const lists = Object.values(columns).map((type, index) => `$${first + index}::${type}[]`);
  return `unnest(${lists.join(", ")})`;
}

function listsOf(rows: readonly Row[], count: number): Value[] {
  return Array.from({ length: count }, (_empty, column) => rows.map((row) => row[column] ?? null));
}

function prepareRows(text: string, columns: Columns): WriteRows {
  const statement = prepare<Value[]>(text);
  const count = Object.keys(columns).length;
  return (rows) => {
    if (rows.length === 0) return () => Promise.resolve();
    const lists = listsOf(rows, count);
    return async (connection) => void (await statement.run(connection, ...lists));
  };
}

function quoted(name: string): string {
  return `"${name}"`;
}

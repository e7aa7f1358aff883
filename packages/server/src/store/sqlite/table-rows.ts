// Tables of a database and their rows, for moving data between stores.

import type { DatabaseSync } from "node:sqlite";
import type { Column, Extract, Table, TableRow, TableWriter } from "../../core/ports/driven/table-store.ts";
import { partOf, quoted, tableWriter } from "../table-rows.ts";
import { type Prepare, prepareIn, prepareWork } from "./database.ts";

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
          // An INTEGER PRIMARY KEY is never null, although the pragma reports it as nullable.
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
  const run = prepareWork(prepareIn(database));
  return tableWriter((work) => Promise.resolve(run(work)), {
    extract: (table, part) => Promise.resolve(extract(database, table, part)),
    async insert(table, rows) {
      const names = table.columns.map(({ name }) => quoted(name));
      const values = names.map(() => "?").join(", ");
      const insert = database.prepare(
        `INSERT INTO ${quoted(table.name)} (${names.join(", ")}) VALUES (${values})`,
      );
      for (const row of rows) insert.run(...row);
      await Promise.resolve();
    },
  });
}

function extract(database: DatabaseSync, table: Table, part: Extract): TableRow[] {
  const { columns, rows, values } = partOf(table, part);
  const statement = database.prepare(`SELECT ${columns} FROM ${rows}`.replaceAll("$", "?"));
  statement.setReturnArrays(true);
  const found: TableRow[] = [];
  let length = 0;
  for (const row of statement.iterate(...values)) {
    const cells = row as unknown as TableRow;
    found.push(cells);
    for (const cell of cells) length += typeof cell === "string" ? cell.length : 8;
    if (found.length >= part.rows || length >= part.characters) break;
  }
  return found;
}

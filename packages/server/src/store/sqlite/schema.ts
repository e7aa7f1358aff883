// The tables as the database itself describes them.

import type { DatabaseSync } from "node:sqlite";
import type { Column, Table } from "../../core/ports/driven/table-store.ts";
import { prepare } from "./statement.ts";

/** What the store keeps for itself, and the other adapter in another form or not at all. */
const BOOKKEEPING: ReadonlySet<string> = new Set(["schema_migrations", "sequences", "moves"]);

/** All tables that hold what a restart must not lose, by name. */
export function tablesOf(database: DatabaseSync): readonly Table[] {
  const tables = prepare<[], { readonly name: string }>(
    database,
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~' ORDER BY name",
  );
  const columns = prepare<
    [string],
    { readonly name: string; readonly type: string; readonly notnull: number; readonly pk: number }
  >(database, `SELECT name, type, "notnull", pk FROM pragma_table_info(?) ORDER BY cid`);
  return tables
    .all()
    .filter(({ name }) => !BOOKKEEPING.has(name))
    .map(({ name }) => {
      const found = columns.all(name);
      return {
        name,
        columns: found.map((column): Column => {
          // The column that is the row's own number is never null, whatever it says.
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

// The tables as the database itself describes them.

import type { Column, Table } from "../../core/ports/driven/table-store.ts";
import type { Columns } from "./bulk.ts";
import type { Connection } from "./connections.ts";
import { prepare } from "./statement.ts";

/** What the store keeps for itself, and the other adapter in another form or not at all. */
const BOOKKEEPING = ["schema_migrations", "probes", "moves"];

type Type = Columns[string];
type TypedColumn = Column & { readonly type: Type };

/** A table with the types that PostgreSQL has for its columns. */
export interface TypedTable extends Table {
  readonly columns: readonly TypedColumn[];
}

const KINDS: Readonly<Record<Type, Column["kind"]>> = {
  bigint: "number",
  integer: "number",
  smallint: "number",
  text: "text",
};

// Unlogged tables lose their rows in a crash, so nothing in them is worth moving.
const columns = prepare<
  [readonly string[]],
  {
    readonly table: string;
    readonly column: string;
    readonly type: string;
    readonly required: boolean;
    readonly place_in_key: number | null;
  }
>(
  `SELECT c.relname AS "table", a.attname AS "column", format_type(a.atttypid, a.atttypmod) AS type, a.attnotnull AS required,
     array_position(i.indkey::smallint[], a.attnum) AS place_in_key
   FROM pg_class c
   JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
   LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
   WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' AND c.relpersistence = 'p' AND c.relname <> ALL ($1::text[])
   ORDER BY c.relname COLLATE "C", a.attnum`,
);

/** All tables that hold what a restart must not lose, by name. */
export async function tablesOf(connection: Connection): Promise<readonly TypedTable[]> {
  const found = Map.groupBy(await columns.all(connection, BOOKKEEPING), ({ table }) => table);
  return [...found].map(([name, ofTable]) => ({
    name,
    columns: ofTable.map(({ column, type, required }): TypedColumn => {
      if (!isKnown(type)) throw unknownType(name, column, type);
      return { name: column, kind: KINDS[type], isOptional: !required, type };
    }),
    key: ofTable
      .flatMap(({ column, place_in_key }) => (place_in_key === null ? [] : [{ column, place_in_key }]))
      .toSorted((left, right) => left.place_in_key - right.place_in_key)
      .map(({ column }) => column),
  }));
}

function isKnown(type: string): type is Type {
  return type in KINDS;
}

function unknownType(table: string, column: string, type: string): Error {
  return new Error(`The column ${column} of the table ${table} has the type ${type}, which cannot be moved`);
}

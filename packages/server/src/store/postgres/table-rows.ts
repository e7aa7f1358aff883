// Tables of a database and their rows, for moving data between stores.

import type { Column, Extract, Table, TableRow, TableWriter } from "../../core/ports/driven/table-store.ts";
import type { Columns } from "../columns.ts";
import { partOf, quoted, tableWriter } from "../table-rows.ts";
import { prepareInsert, type WriteRows } from "./bulk.ts";
import type { Connection } from "./connections.ts";
import { connectionLost } from "./failures.ts";
import { prepare, runOn } from "./statement.ts";

/** Tables about the database itself, whose rows are not moved. */
const BOOKKEEPING = ["schema_migrations", "probes", "moves"];

type Type = Columns[string];
type TypedColumn = Column & { readonly type: Type };

/** A table with the types that PostgreSQL has for its columns. */
interface TypedTable extends Table {
  readonly columns: readonly TypedColumn[];
}

const KINDS: Readonly<Record<Type, Column["kind"]>> = {
  bigint: "number",
  integer: "number",
  smallint: "number",
  text: "text",
};

// Skip unlogged tables: they lose their rows in a crash anyway.
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

/** Returns the tables that survive a crash, with their columns and keys, by name. */
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

/** All methods must be called in a transaction. */
export function tableRowsOf(connection: Connection): TableWriter {
  const inserts = new Map<string, WriteRows>();
  const insertInto = async (table: Table): Promise<WriteRows> => {
    const known = inserts.get(table.name);
    if (known !== undefined) return known;
    const types = await typesOf(connection, table);
    const columns = Object.fromEntries(table.columns.map(({ name }) => [name, types.get(name) ?? "text"]));
    const insert = prepareInsert(quoted(table.name), columns);
    inserts.set(table.name, insert);
    return insert;
  };
  return tableWriter((work) => runOn(connection, work), {
    extract: (table, part) => extract(connection, table, part),
    insert: async (table, rows) => (await insertInto(table))(rows)(connection),
  });
}

async function typesOf(connection: Connection, table: Table) {
  const found = (await tablesOf(connection)).find(({ name }) => name === table.name);
  return new Map(found?.columns.map(({ name, type }) => [name, type]));
}

/** Selects rows up to the one that reaches the limit of characters; the database sums up the rows before it. */
async function extract(connection: Connection, table: Table, part: Extract): Promise<TableRow[]> {
  const { columns, key, rows, values } = partOf(table, part);
  const length = table.columns
    .map(({ name, kind }) => (kind === "text" ? `coalesce(octet_length(${quoted(name)}), 0)` : "8"))
    .join(" + ");
  const text = `SELECT ${columns} FROM (
      SELECT ${columns}, coalesce(sum(${length}) OVER (ORDER BY ${key} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS "before it"
      FROM (SELECT ${columns} FROM ${rows} LIMIT ${part.rows}) AS part
    ) AS summed WHERE "before it" < ${part.characters} ORDER BY ${key}`;
  try {
    return (await connection.query<(string | number | null)[]>({ text, values, rowMode: "array" })).rows;
  } catch (error) {
    throw connectionLost(error);
  }
}

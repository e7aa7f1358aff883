// Tables of a database and their rows, for moving data between stores.

import type {
  Column,
  Extract,
  MoveNote,
  Table,
  TableRow,
  TableWriter,
} from "../../core/ports/driven/table-store.ts";
import { UNFINISHED_MOVE } from "../migrations.ts";
import type { Columns } from "../columns.ts";
import { prepareInsert, type WriteRows } from "./bulk.ts";
import type { Connection } from "./connections.ts";
import { connectionLost } from "./failures.ts";
import { prepare, send } from "./statement.ts";

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

/** The sequences by the names that both adapters use: without the final "s" that they have in PostgreSQL. */
const sequences = prepare<[], { readonly name: string; readonly value: number }>(
  `SELECT left(sequencename, -1) AS name, coalesce(last_value, 0) AS value FROM pg_sequences
   WHERE schemaname = current_schema() ORDER BY sequencename COLLATE "C"`,
);
const raise = prepare<[string, number]>(
  `SELECT setval(s.name::regclass, $2::bigint)
   FROM (SELECT quote_ident(sequencename) AS name, coalesce(last_value, 0) AS value FROM pg_sequences
         WHERE schemaname = current_schema() AND sequencename = $1::text || 's') AS s
   WHERE s.value < $2::bigint`,
);
const take = prepare<[string], { readonly value: number }>("SELECT nextval($1::text || 's') AS value");

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
  return {
    async count(table) {
      const [row] = await rowsOf(connection, `SELECT count(*) FROM ${quoted(table.name)}`, []);
      return Number(row?.[0]);
    },
    extract: (table, part) => rowsOf(connection, textOf(table, part), valuesOf(part)),
    sequences: async () =>
      Object.fromEntries((await sequences.all(connection)).map(({ name, value }) => [name, value])),
    moveNote: () => readMoveNote(connection),
    insert: async (table, rows) => (await insertInto(table))(rows)(connection),
    async remove(table, where) {
      const condition = where === null ? "" : ` WHERE ${quoted(where.column)} = $1`;
      const text = `DELETE FROM ${quoted(table.name)}${condition}`;
      await rowsOf(connection, text, where === null ? [] : [where.value]);
    },
    raise: async (sequence, number) => void (await raise.run(connection, sequence, number)),
    async take(sequence) {
      const row = await take.get(connection, sequence);
      if (row === undefined) throw new Error(`The database has no sequence ${sequence}`);
      return row.value;
    },
    noteMove: (note) => writeMoveNote(connection, note),
  };
}

async function typesOf(connection: Connection, table: Table) {
  const found = (await tablesOf(connection)).find(({ name }) => name === table.name);
  return new Map(found?.columns.map(({ name, type }) => [name, type]));
}

async function rowsOf(connection: Connection, text: string, values: TableRow): Promise<TableRow[]> {
  try {
    const { rows } = await connection.query<(string | number | null)[]>({
      text,
      values: [...values],
      rowMode: "array",
    });
    return rows;
  } catch (error) {
    throw connectionLost(error);
  }
}

/** Selects rows up to the one that reaches the limit of characters; the database sums up the rows before it. */
function textOf(table: Table, { after, where, rows, characters }: Extract): string {
  const columns = table.columns.map(({ name }) => quoted(name)).join(", ");
  const key = table.key.map(quoted).join(", ");
  const first = table.key.map((_name, index) => `$${index + 1}`).join(", ");
  const conditions = [
    ...(after === null ? [] : [`(${key}) > (${first})`]),
    ...(where === undefined ? [] : [`${quoted(where.column)} = $${(after?.length ?? 0) + 1}`]),
  ];
  const condition = conditions.length === 0 ? "" : ` WHERE ${conditions.join(" AND ")}`;
  const length = table.columns
    .map(({ name, kind }) => (kind === "text" ? `coalesce(octet_length(${quoted(name)}), 0)` : "8"))
    .join(" + ");
  return `SELECT ${columns} FROM (
      SELECT ${columns}, coalesce(sum(${length}) OVER (ORDER BY ${key} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS "before it"
      FROM (SELECT ${columns} FROM ${quoted(table.name)}${condition} ORDER BY ${key} LIMIT ${rows}) AS part
    ) AS summed WHERE "before it" < ${characters} ORDER BY ${key}`;
}

function valuesOf({ after, where }: Extract): TableRow {
  return [...(after ?? []), ...(where === undefined ? [] : [where.value])];
}

function quoted(name: string): string {
  return `"${name}"`;
}

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

/**
 * Returns true if a move into this database began and did not finish. An empty database has no table to ask.
 */
export async function isMoveUnfinished(connection: Connection): Promise<boolean> {
  return (await has(connection, "schema_migrations")) && (await isClosed(connection));
}

/**
 * Returns what the last move into this database noted, or `null` without one. The first move creates the
 * table, because most databases never need it.
 */
async function readMoveNote(connection: Connection): Promise<MoveNote | null> {
  if (!(await has(connection, "moves"))) return null;
  const row = await note.get(connection);
  return row === undefined ? null : { isFinished: !(await isClosed(connection)), text: row.note };
}

async function writeMoveNote(connection: Connection, { isFinished, text }: MoveNote): Promise<void> {
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

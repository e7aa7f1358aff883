// Rows of whatever table, read and written.

import type { Extract, Table, TableRow, TableWriter } from "../../core/ports/driven/table-store.ts";
import { prepareInsert, type WriteRows } from "./bulk.ts";
import type { Connection } from "./connections.ts";
import { readMoveNote, writeMoveNote } from "./move-note.ts";
import { connectionLost } from "./failures.ts";
import { tablesOf } from "./schema.ts";
import { prepare } from "./statement.ts";

/** A sequence of this adapter is called as the number that it gives out, in the plural. */
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

/** Everything is to be called in a transaction. */
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

/** Rows up to the one with which the characters are reached; what comes before a row is added up by the database. */
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

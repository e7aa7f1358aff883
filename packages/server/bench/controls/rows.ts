// The least that stored chats can cost: the rows that Colloquy has left in a database, inserted again into empty tables of the same schema
// with multi-row statements, as many chats a transaction as clients have under way.

import { Client } from "pg";
import { serveRole } from "../role.ts";
import { partsOf } from "../nodes/parts.ts";

export interface RowsInput {
  /** A database as Colloquy has left it; its tables are emptied. */
  readonly databaseUrl: string;
}

export interface Inserted {
  readonly chats: number;
  readonly seconds: number;
}

interface Table {
  readonly insert: { readonly name: string; readonly text: string };
  readonly rows: readonly (readonly unknown[])[];
}

export interface RowsHandlers extends Readonly<Record<string, (input: never) => unknown>> {
  /** Inserts everything once more, `together` chats a transaction. */
  readonly insert: (input: { readonly together: number }) => Promise<Inserted>;
}

export async function startRowsControl({ databaseUrl }: RowsInput): Promise<void> {
  const client = new Client({ connectionString: databaseUrl, pipeline: true });
  await client.connect();
  const tables = await readTables(client);
  const counted = "SELECT count(*)::int AS chats FROM messages WHERE role = 'user'";
  const { rows } = await client.query<{ readonly chats: number }>(counted);
  const chats = rows[0]?.chats ?? 0;
  const handlers: RowsHandlers = {
    insert: async ({ together }) => {
      await client.query(`TRUNCATE ${tables.map(({ insert }) => insert.name).join(", ")}`);
      const transactions = transactionsOf(tables, Math.ceil(chats / together));
      const begun = performance.now();
      for (const statements of transactions) {
        // Pipelined: one round trip.
        await Promise.all([
          client.query("BEGIN"),
          ...statements.map((statement) => client.query(statement)),
          client.query("COMMIT"),
        ]);
      }
      return { chats, seconds: (performance.now() - begun) / 1000 };
    },
  };
  serveRole(handlers, () => client.end());
}

/** What there is, of each table that a session has rows in. */
async function readTables(client: Client): Promise<readonly Table[]> {
  const { rows } = await client.query(
    `SELECT table_name AS name, string_agg(quote_ident(column_name), ', ' ORDER BY ordinal_position) AS columns,
       string_agg('$' || ordinal_position || '::' || udt_name || '[]', ', ' ORDER BY ordinal_position) AS parameters
     FROM information_schema.columns
     WHERE table_schema = current_schema() AND table_name IN ('sessions', 'messages', 'turns', 'events', 'system_events', 'leases')
     GROUP BY table_name ORDER BY table_name`,
  );
  const tables: Table[] = [];
  for (const { name, columns, parameters } of rows as {
    name: string;
    columns: string;
    parameters: string;
  }[]) {
    const key = name === "sessions" ? "key" : "session_key";
    const found = await client.query<unknown[]>({
      text: `SELECT ${columns} FROM ${name} ORDER BY ${key}`,
      rowMode: "array",
    });
    const text = `INSERT INTO ${name} (${columns}) SELECT * FROM unnest(${parameters})`;
    tables.push({ insert: { name, text }, rows: found.rows });
  }
  return tables;
}

/** The statements of each transaction, with one list a column. */
function transactionsOf(tables: readonly Table[], count: number) {
  const parts = tables.map(({ insert, rows }) => ({ insert, parts: partsOf(rows, count) }));
  return Array.from({ length: count }, (_empty, place) =>
    parts.flatMap(({ insert, parts: ofTable }) => {
      const rows = ofTable[place] ?? [];
      const values = rows[0]?.map((_value, column) => rows.map((row) => row[column]));
      return values === undefined ? [] : [{ ...insert, values }];
    }),
  );
}

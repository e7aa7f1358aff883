// The minimum cost of stored chats: Colloquy's rows, inserted again into empty tables of the same schema with
// multi-row statements. Either in a loop, or behind bare node:http with group commit.

import { createServer, type ServerResponse } from "node:http";
import { Client } from "pg";
import { partOf } from "../nodes/parts.ts";
import { serveRole } from "../role.ts";
import { listenOnFreePort } from "./listen.ts";

export interface RowsInput {
  /** A database filled by Colloquy; its tables are emptied. */
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
  /** Port where a POST inserts the rows of one more chat and is answered once they are durable. */
  readonly port: () => number;
  /** Empties the tables and starts again at the first chat. Returns the number of chats. */
  readonly empty: () => Promise<number>;
  /** Inserts all chats, `together` per transaction. */
  readonly insertAll: (input: { readonly together: number }) => Promise<Inserted>;
}

const BODY = Buffer.from('{"stored":true}');
const HEADERS = { "content-type": "application/json; charset=utf-8", "content-length": BODY.length };

export async function startRowsControl({ databaseUrl }: RowsInput): Promise<void> {
  const client = new Client({ connectionString: databaseUrl, pipeline: true });
  await client.connect();
  const chats = await openChats(client);
  const server = serveChats(chats);
  const port = await listenOnFreePort(server);
  const handlers: RowsHandlers = {
    port: () => port,
    empty: () => chats.empty(),
    insertAll: async ({ together }) => {
      await chats.empty();
      const begun = performance.now();
      for (let left = chats.count; left > 0; left -= together) await chats.insert(Math.min(left, together));
      return { chats: chats.count, seconds: (performance.now() - begun) / 1000 };
    },
  };
  serveRole(handlers, async () => {
    server.closeAllConnections();
    await client.end();
  });
}

interface Chats {
  readonly count: number;
  empty(): Promise<number>;
  /** Inserts the rows of the next chats in one transaction. */
  insert(chats: number): Promise<void>;
}

async function openChats(client: Client): Promise<Chats> {
  const tables = await readTables(client);
  const counted = "SELECT count(*)::int AS chats FROM messages WHERE role = 'user'";
  const { rows: answer } = await client.query<{ readonly chats: number }>(counted);
  const count = answer[0]?.chats ?? 0;
  let next = 0;
  return {
    count,
    empty: async () => {
      await client.query(`TRUNCATE ${tables.map(({ insert }) => insert.name).join(", ")}`);
      next = 0;
      return count;
    },
    insert: async (chats) => {
      // Pipelined: one round trip.
      const begun = client.query("BEGIN");
      const statements = tables.flatMap(({ insert, rows }) => {
        const part = partOf(rows, next / count, (next + chats) / count);
        const values = part[0]?.map((_value, column) => part.map((row) => row[column]));
        return values === undefined ? [] : [client.query({ ...insert, values })];
      });
      next += chats;
      await Promise.all([begun, ...statements, client.query("COMMIT")]);
    },
  };
}

function serveChats(chats: Chats) {
  let waiting: ServerResponse[] = [];
  let isCommitting = false;
  const commit = async () => {
    isCommitting = true;
    while (waiting.length > 0) {
      const batch = waiting;
      waiting = [];
      await chats.insert(batch.length);
      for (const response of batch) {
        response.writeHead(200, HEADERS);
        response.end(BODY);
      }
    }
    isCommitting = false;
  };
  return createServer((_request, response) => {
    waiting.push(response);
    if (waiting.length === 1 && !isCommitting) setImmediate(() => void commit());
  });
}

/** Reads the rows of each table that belong to sessions. */
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

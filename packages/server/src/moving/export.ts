// Exports sessions as JSON Lines, with everything another store needs to continue them (docs/moving.md).

import type { Table, TableReader, TableRow, TableStore, Where } from "../core/ports/driven/table-store.ts";
import { cellOf, readRows, tableOf } from "./moved-tables.ts";
import {
  FORMAT,
  FORMAT_VERSION,
  JSON_COLUMNS,
  type Kind,
  KINDS,
  COMPUTED_COLUMNS,
} from "./session-format.ts";

/**
 * Writes the matching sessions from one consistent snapshot, oldest first; writes nothing if there are none. `write`
 * receives text that ends with a line feed and provides backpressure. `at` is the time in milliseconds since the epoch.
 */
export async function exportSessions(
  store: TableStore,
  where: Where & { readonly column: "id" | "public_key"; readonly value: string },
  at: number,
  write: (text: string) => Promise<void>,
): Promise<{ readonly sessions: number; readonly lines: number }> {
  const counts = { sessions: 0, lines: 0 };
  const writeLine = async (line: object): Promise<void> => {
    counts.lines += 1;
    await write(`${JSON.stringify(line)}\n`);
  };
  return await store.read(async (reader) => {
    const sessions = tableOf(store, "sessions");
    for await (const session of readRows(reader, sessions, where)) {
      if (counts.lines === 0) {
        const exportedAt = new Date(at).toISOString();
        await writeLine({ format: FORMAT, version: FORMAT_VERSION, exported_at: exportedAt });
      }
      await exportSession(store, reader, session, writeLine);
      counts.sessions += 1;
    }
    if (counts.sessions > 0) await writeLine({ kind: "done", sessions: counts.sessions });
    return counts;
  });
}

async function exportSession(
  store: TableStore,
  reader: TableReader,
  session: TableRow,
  writeLine: (line: object) => Promise<void>,
): Promise<void> {
  const sessions = tableOf(store, "sessions");
  const key = Number(cellOf(sessions, session, "key"));
  await writeLine(lineOf("session", sessions, session));
  let lines = 1;
  for (const [kind, { table: name }] of Object.entries(KINDS)) {
    if (kind === "session") continue;
    const table = tableOf(store, name);
    for await (const row of readRows(reader, table, { column: "session_key", value: key })) {
      await writeLine(lineOf(kind as Kind, table, row));
      lines += 1;
    }
  }
  await writeLine({ kind: "end", id: cellOf(sessions, session, "id"), lines });
}

function lineOf(kind: Kind, table: Table, row: TableRow): object {
  const left = COMPUTED_COLUMNS[table.name] ?? ["session_key"];
  const cells = table.columns.flatMap(({ name }, index) => {
    if (left.includes(name)) return [];
    const cell = row[index] ?? null;
    const isJson = cell !== null && JSON_COLUMNS.has(`${table.name}.${name}`);
    return [[name, isJson ? (JSON.parse(String(cell)) as unknown) : cell]];
  });
  return { kind, ...(Object.fromEntries(cells) as object) };
}

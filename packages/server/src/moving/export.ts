// Exports sessions as JSON Lines, with everything another store needs to continue them (docs/moving.md).

import type { FileStore } from "@colloquy/engine/internal/core/plugins/file-store";
import type {
  Cell,
  Table,
  TableReader,
  TableRow,
  TableStore,
  Where,
} from "@colloquy/engine/internal/core/ports/driven/table-store";
import { cellOf, readRows, tableOf } from "./moved-tables.ts";
import { computedColumns, FORMAT, FORMAT_VERSION, JSON_COLUMNS, type Kind, KINDS } from "./session-format.ts";

/**
 * Writes the matching sessions from one consistent snapshot, oldest first; writes nothing if there are none. `write`
 * receives text that ends with a line feed and provides backpressure. `at` is the time in milliseconds since the epoch.
 */
export async function exportSessions(
  store: TableStore,
  where: Where & { readonly column: "id" | "public_key"; readonly value: string },
  at: number,
  {
    files,
    write,
  }: { readonly files: Pick<FileStore, "get">; readonly write: (text: string) => Promise<void> },
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
      await exportSession({ store, reader, files }, session, writeLine);
      counts.sessions += 1;
    }
    if (counts.sessions > 0) await writeLine({ kind: "done", sessions: counts.sessions });
    return counts;
  });
}

interface Source {
  readonly store: TableStore;
  readonly reader: TableReader;
  readonly files: Pick<FileStore, "get">;
}

async function exportSession(
  { store, reader, files }: Source,
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
      // An upload that no message uses is no part of the conversation.
      if (kind === "file" && cellOf(table, row, "position") === null) continue;
      const content = kind === "file" ? { content: await contentOf(files, cellOf(table, row, "blob")) } : {};
      await writeLine({ ...lineOf(kind as Kind, table, row), ...content });
      lines += 1;
    }
  }
  await writeLine({ kind: "end", id: cellOf(sessions, session, "id"), lines });
}

/** Returns the bytes of a file in Base64; `null` if they are lost. */
async function contentOf(files: Pick<FileStore, "get">, blob: Cell): Promise<string | null> {
  const content = await files.get(String(blob), null);
  if (content === null) return null;
  const chunks: Uint8Array[] = [];
  for await (const chunk of content) chunks.push(chunk);
  return Buffer.concat(chunks).toString("base64");
}

function lineOf(kind: Kind, table: Table, row: TableRow): object {
  const left = computedColumns(table.name);
  const cells = table.columns.flatMap(({ name }, index) => {
    if (left.includes(name)) return [];
    const cell = row[index] ?? null;
    const isJson = cell !== null && JSON_COLUMNS.has(`${table.name}.${name}`);
    return [[name, isJson ? (JSON.parse(String(cell)) as unknown) : cell]];
  });
  return { kind, ...(Object.fromEntries(cells) as object) };
}

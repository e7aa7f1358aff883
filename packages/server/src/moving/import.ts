// Imports sessions from an export into a store. Each session is imported completely or not at all.

import { createHash, randomUUID } from "node:crypto";
import { Readable } from "node:stream";
import type { ComputedColumn, Fields } from "@colloquy/engine/internal/core/field";
import { UNUSED_FILE_MS } from "@colloquy/engine/internal/core/file";
import { wireBytesOf, type MessageRecord } from "@colloquy/engine/internal/core/message";
import type { FileStore } from "@colloquy/engine/internal/core/plugins/file-store";
import type {
  Cell,
  Table,
  TableRow,
  TableStore,
  TableWriter,
} from "@colloquy/engine/internal/core/ports/driven/table-store";
import type { SESSION_FIELDS } from "@colloquy/engine/internal/core/session";
import type { TURN_FIELDS } from "@colloquy/engine/internal/core/turn";
import { retentionOf } from "@colloquy/engine/internal/store/columns";
import { type MessageRow, toMessage } from "@colloquy/engine/internal/store/rows";
import { cellOf, tableOf } from "./moved-tables.ts";
import {
  linesOf,
  type LineOf,
  type KeepFile,
  openTurns,
  type SessionBundle,
  readSessions,
  type ReadSession,
} from "./session-reader.ts";
import { JSON_COLUMNS, type Kind, KINDS, type OwnColumn } from "./session-format.ts";

export interface ImportedSession {
  /** `null` if the line with the id is invalid. */
  readonly id: string | null;
  /** Number of the session's first line, or of the invalid line; counts from 1. */
  readonly line: number;
  readonly outcome: "imported" | "replaced" | "refused";
  /** Why the session was refused. */
  readonly problem: string | null;
}

export interface ImportOptions {
  /** Replaces existing sessions; otherwise they are refused. */
  readonly replace: boolean;
  /** The current time in milliseconds since the Unix epoch. */
  readonly at: number;
  readonly files: Pick<FileStore, "put">;
  readonly onSession: (session: ImportedSession) => void;
}

/** Rejects if `lines` are not an export or the store fails. Sessions already reported to `onSession` are committed. */
export async function importSessions(
  store: TableStore,
  lines: AsyncIterable<string>,
  { replace, at, files, onSession }: ImportOptions,
): Promise<void> {
  const keepFile: KeepFile = (file) => keep(store, files, file, at);
  for await (const read of readSessions(lines, keepFile))
    onSession(await importOne(store, read, replace, at));
}

/** Stores bytes, of which the cleanup removes those that get no row. */
async function keep(
  store: TableStore,
  files: Pick<FileStore, "put">,
  { app, sha256, bytes, content }: Parameters<KeepFile>[0],
  at: number,
): ReturnType<KeepFile> {
  const decoded = Buffer.from(content, "base64");
  if (decoded.length !== bytes || createHash("sha256").update(decoded).digest("hex") !== sha256)
    return { problem: "has content that does not match its bytes and sha256" };
  const blob = `${app}/${randomUUID()}`;
  const unused = tableOf(store, "unused_blobs");
  await store.change((writer) =>
    writer.insert(unused, [
      rowOf(unused, {
        id: blob,
        blob,
        due_at: at + UNUSED_FILE_MS,
        app: null,
        holder: null,
        bytes: 0,
        number: 0,
      }),
    ]),
  );
  await files.put(blob, Readable.from([decoded]));
  return { blob };
}

async function importOne(
  store: TableStore,
  read: ReadSession,
  replace: boolean,
  at: number,
): Promise<ImportedSession> {
  const { id, line } = read;
  if ("problem" in read) return { id, line, outcome: "refused", problem: read.problem };
  const { bundle } = read;
  return await store.change(async (writer) => {
    const before = await keyOfSession(store, writer, bundle.session.id);
    if (before !== null && !replace) {
      const problem = "names a session that exists. Remove it first, or replace it with --replace";
      return { id, line, outcome: "refused", problem };
    }
    if (before !== null) await removeSession(store, writer, before);
    await writeSession(store, writer, bundle, at);
    return { id, line, outcome: before === null ? "imported" : "replaced", problem: null };
  });
}

async function keyOfSession(store: TableStore, writer: TableWriter, id: string): Promise<number | null> {
  const sessions = tableOf(store, "sessions");
  const where = { column: "id", value: id };
  const [row] = await writer.extract(sessions, { after: null, rows: 1, characters: 1, where });
  return row === undefined ? null : Number(cellOf(sessions, row, "key"));
}

/** Deletes the session row first: its lock waits for changes of the session by other nodes. */
async function removeSession(store: TableStore, writer: TableWriter, key: number): Promise<void> {
  await writer.remove(tableOf(store, "sessions"), { column: "key", value: key });
  for (const table of store.tables) {
    if (table.columns.some(({ name }) => name === "session_key")) {
      await writer.remove(table, { column: "session_key", value: key });
    }
  }
}

async function writeSession(
  store: TableStore,
  writer: TableWriter,
  bundle: SessionBundle,
  at: number,
): Promise<void> {
  const key = await writer.take("session_key");
  const sessions = tableOf(store, "sessions");
  await writer.insert(sessions, [rowOf(sessions, { ...bundle.session, ...sessionCells(bundle, key, at) })]);
  for (const [kind, { table: name }] of Object.entries(KINDS)) {
    if (kind === "session") continue;
    const table = tableOf(store, name);
    const rows = linesOf(bundle, kind as Kind).map((line) =>
      rowOf(table, {
        ...line,
        session_key: key,
        ...(kind === "turn" && turnCells(bundle, line as LineOf<"turn">)),
      }),
    );
    await writer.insert(table, rows);
  }
}

/** Cells of the columns that an export does not contain. */
type AssignedCells<F extends Fields, Own extends string> = Readonly<Record<ComputedColumn<F> | Own, Cell>>;

/**
 * Returns the columns that the store computes. The session starts a new incarnation with an empty event log
 * after the head.
 */
function sessionCells(
  bundle: SessionBundle,
  key: number,
  at: number,
): AssignedCells<typeof SESSION_FIELDS, OwnColumn> {
  const { session } = bundle;
  return {
    key,
    life: randomUUID().replaceAll("-", "").slice(0, 12),
    event_floor: session.head,
    event_bytes: 0,
    message_bytes: linesOf(bundle, "message").reduce((sum, line) => sum + wireBytesOf(recordOf(line)), 0),
    epoch: 0,
    used_at: at,
    retention: retentionOf({
      messageCount: session.message_count,
      modelChosen: session.model_chosen === 1,
      utilityModel: session.utility_model,
      titleSource: session.title_source,
      publicKey: session.public_key,
      owner: session.owned_by,
    }),
  };
}

function recordOf(line: LineOf<"message">): MessageRecord {
  const cells = Object.entries(line).map(([name, value]) => {
    const isJson = JSON_COLUMNS.has(`messages.${name}`) && value !== null;
    return [name, isJson ? JSON.stringify(value) : value];
  });
  return toMessage(Object.fromEntries(cells) as MessageRow);
}

/**
 * A turn that was running or waiting without an action becomes claimable by any node; later turns stay
 * queued.
 */
function turnCells(bundle: SessionBundle, turn: LineOf<"turn">): AssignedCells<typeof TURN_FIELDS, "state"> {
  const [first] = openTurns(bundle);
  const isAsked = linesOf(bundle, "action").some(
    ({ status, turn }) => status === "pending" && turn === first?.number,
  );
  const waits = first?.state === "waiting" && isAsked;
  const isFirst = first?.number === turn.number;
  return {
    epoch: 0,
    attempt_at: null,
    state: isFirst && turn.state === "waiting" && !waits ? "running" : turn.state,
    runnable: isFirst && !waits ? 1 : 0,
    behind_waiting: waits && !isFirst && turn.state === "queued" ? 1 : 0,
  };
}

function rowOf(table: Table, cells: Readonly<Record<string, unknown>>): TableRow {
  return table.columns.map(({ name }): Cell => {
    const cell = cells[name];
    if (cell === undefined) throw new Error(`An export has no value for the column ${name} of ${table.name}`);
    if (JSON_COLUMNS.has(`${table.name}.${name}`)) return jsonText(table, name, cell);
    return cell as Cell;
  });
}

/** Returns JSON for a column. In an optional column, `null` is SQL NULL and not JSON. */
function jsonText(table: Table, column: string, value: unknown): Cell {
  const isOptional = table.columns.some(({ name, isOptional }) => name === column && isOptional);
  return value === null && isOptional ? null : JSON.stringify(value);
}

// The lines of an export, version 1 (docs/moving.md). A line is one row of one table, keyed by column; JSON
// columns are JSON in the line. Columns that the importing store assigns or computes are omitted.

import { SystemEvent } from "@colloquy/protocol";
import { z } from "zod";
import { ACTION_FIELDS } from "@colloquy/engine/internal/core/action";
import {
  computedColumnsOf,
  type Fields,
  jsonColumnsOf,
  lineShapeOf,
} from "@colloquy/engine/internal/core/field";
import { FILE_FIELDS } from "@colloquy/engine/internal/core/file";
import { LINE_SCHEMAS } from "@colloquy/engine/internal/core/line-schemas";
import { MESSAGE_FIELDS } from "@colloquy/engine/internal/core/message";
import { SESSION_FIELDS } from "@colloquy/engine/internal/core/session";
import { TURN_FIELDS } from "@colloquy/engine/internal/core/turn";

export const FORMAT = "colloquy-sessions";
export const FORMAT_VERSION = 1;

export const Header = z.looseObject({ format: z.literal(FORMAT), version: z.number() });

const { count, position, time, word } = LINE_SCHEMAS;
const Usage = z.record(z.string(), z.number());
const SessionLine = z.strictObject({
  kind: z.literal("session"),
  ...lineShapeOf(SESSION_FIELDS, LINE_SCHEMAS),
});
const MessageLine = z.strictObject({
  kind: z.literal("message"),
  ...lineShapeOf(MESSAGE_FIELDS, LINE_SCHEMAS),
});
const TurnLine = z.strictObject({ kind: z.literal("turn"), ...lineShapeOf(TURN_FIELDS, LINE_SCHEMAS) });

const StepLine = z.strictObject({
  kind: z.literal("step"),
  turn: position,
  number: position,
  finish_reason: z.string(),
  usage: Usage,
  text: z.string(),
  parts: z.json(),
});

const CheckpointLine = z.strictObject({
  kind: z.literal("checkpoint"),
  turn: position,
  offset: count,
  text: z.string(),
});

const SystemEventLine = z.strictObject({
  kind: z.literal("system_event"),
  number: position,
  item: SystemEvent,
});

const ActionLine = z.strictObject({ kind: z.literal("action"), ...lineShapeOf(ACTION_FIELDS, LINE_SCHEMAS) });

const FileLine = z.strictObject({
  kind: z.literal("file"),
  ...lineShapeOf(FILE_FIELDS, LINE_SCHEMAS),
  /** Base64; `null` if the file store has lost the bytes. */
  content: z.base64().nullable(),
});

const IdempotencyKeyLine = z.strictObject({
  kind: z.literal("idempotency_key"),
  key: word,
  digest: word,
  turn: position,
  at: time,
});

const TitleJobLine = z.strictObject({ kind: z.literal("title_job"), due_at: time });

const SummaryJobLine = z.strictObject({
  kind: z.literal("summary_job"),
  due_at: time,
  attempts: count,
  budget: count,
});

/** Ends a session with its number of lines, so that a truncated file is detected. */
export const EndLine = z.strictObject({ kind: z.literal("end"), id: z.string(), lines: count });

/** Kinds of lines and their tables, in the order of an export. */
export const KINDS = {
  session: { table: "sessions", line: SessionLine },
  message: { table: "messages", line: MessageLine },
  turn: { table: "turns", line: TurnLine },
  step: { table: "steps", line: StepLine },
  checkpoint: { table: "checkpoints", line: CheckpointLine },
  system_event: { table: "system_events", line: SystemEventLine },
  action: { table: "actions", line: ActionLine },
  file: { table: "files", line: FileLine },
  idempotency_key: { table: "idempotency_keys", line: IdempotencyKeyLine },
  title_job: { table: "title_jobs", line: TitleJobLine },
  summary_job: { table: "summary_jobs", line: SummaryJobLine },
} as const;

export type Kind = keyof typeof KINDS;

const FIELDS: Readonly<Record<string, Fields>> = {
  sessions: SESSION_FIELDS,
  messages: MESSAGE_FIELDS,
  turns: TURN_FIELDS,
  actions: ACTION_FIELDS,
  files: FILE_FIELDS,
};

/** Columns that are JSON text in the store. */
export const JSON_COLUMNS: ReadonlySet<string> = new Set([
  ...Object.entries(FIELDS).flatMap(([table, fields]) =>
    jsonColumnsOf(fields).map((column) => `${table}.${column}`),
  ),
  "steps.usage",
  "steps.parts",
  "system_events.item",
]);

/** Session columns without a field, assigned by the importing store. */
const OWN_COLUMNS = ["event_floor", "used_at", "retention"] as const;
export type OwnColumn = (typeof OWN_COLUMNS)[number];

/** Returns the columns that are not exported, because the importing store assigns or computes them. */
export function computedColumns(table: string): readonly string[] {
  return [...OWN_COLUMNS, "session_key", ...computedColumnsOf(FIELDS[table] ?? {})];
}

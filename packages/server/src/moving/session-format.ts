// The lines of an export, version 1 (docs/moving.md). A line is one row of one table, keyed by column; JSON columns are JSON
// in the line. Columns that the importing store assigns or computes are omitted.

import {
  ANSWER_EXTRAS,
  Json,
  MessageStatus,
  parseSessionId,
  SessionStatus,
  SystemEvent,
  ToolCall,
  ToolResult,
} from "@colloquy/protocol";
import { z } from "zod";
import { parsePublicKey } from "../core/user-state.ts";

export const FORMAT = "colloquy-sessions";
export const FORMAT_VERSION = 1;

export const Header = z.looseObject({ format: z.literal(FORMAT), version: z.number() });

const flag = z.union([z.literal(0), z.literal(1)]);
const time = z.int().min(0);
const position = z.int().min(1);
const count = z.int().min(0);
const word = z.string().min(1);
const Usage = z.record(z.string(), z.number());
const StoredCall = ToolCall.extend({
  effect: z.enum(["read", "idempotent", "unsafe"]),
  step: position,
  phase: z.enum(["started", "asked", "approved", "allowed"]).optional(),
  input: z.json().optional(),
});

const SessionLine = z.strictObject({
  kind: z.literal("session"),
  id: z.string().refine((id) => parseSessionId(id) === id, "must be a session id in lower case"),
  // Missing in exports of earlier versions.
  spelling: z
    .string()
    .refine((text) => parseSessionId(text) !== null, "must be a session id")
    .nullable()
    .default(null),
  app: word.nullable(),
  title: word,
  title_source: z.enum(["placeholder", "generated", "user"]),
  status: SessionStatus,
  model: word,
  model_chosen: flag,
  // Missing in exports of earlier versions.
  model_app: word.nullable().default(null),
  owned_by: word.nullable().default(null),
  utility_model: word.nullable(),
  public_key: z
    .string()
    .refine((key) => parsePublicKey(key) === key, "must be a wallet address in lower case")
    .nullable(),
  // Missing in exports of earlier versions.
  wallet_id: word.nullable().default(null),
  wallet_proved: flag.default(0),
  user_state: z.record(z.string(), z.json()).nullable(),
  // Missing in exports of earlier versions.
  pinned: flag.default(0),
  head: count,
  message_count: count,
  turn_count: count,
  created_at: time,
  updated_at: time,
});

const MessageLine = z.strictObject({
  kind: z.literal("message"),
  position,
  id: z.uuid(),
  turn: position,
  role: z.enum(["user", "assistant", "system"]),
  status: MessageStatus,
  created_at: time,
  tool_calls: z.array(StoredCall).nullable(),
  tool_results: z.array(ToolResult.extend({ told: Json.optional() })).nullable(),
  content: z.string(),
  // Missing in exports of earlier versions.
  extras: z.strictObject(ANSWER_EXTRAS).nullable().default(null),
});

const TurnLine = z.strictObject({
  kind: z.literal("turn"),
  number: position,
  state: z.enum(["queued", "running", "waiting", "complete", "interrupted", "failed"]),
  user_position: position,
  agent_position: position.nullable(),
  attempts: z.int(),
  steps: count,
  ran_ms: count,
  // Missing in exports of earlier versions.
  model: word.nullable().default(null),
  started_at: time.nullable().default(null),
  client_id: z.string().nullable(),
  // Missing in exports of earlier versions.
  options: z.record(z.string(), z.json()).nullable().default(null),
  usage: Usage,
  failure: word.nullable(),
  enqueued_at: time,
  ended_at: time.nullable(),
});

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

const ActionLine = z.strictObject({
  kind: z.literal("action"),
  number: position,
  id: word,
  turn: position,
  call_id: z.string(),
  tool: z.string(),
  asked: z.strictObject({
    kind: z.enum(["approval", "wallet_transaction", "wallet_signature", "question", "client_tool"]),
    request: z.record(z.string(), z.json()),
    repeatable: z.boolean().optional(),
    timeoutMs: position.optional(),
  }),
  status: z.enum(["pending", "approved", "denied", "expired", "cancelled"]),
  result: z.json(),
  // Missing in exports of earlier versions.
  claim: word.nullable().default(null),
  claim_expires_at: time.nullable().default(null),
  created_at: time,
  expires_at: time,
  resolved_at: time.nullable(),
});

const IdempotencyKeyLine = z.strictObject({
  kind: z.literal("idempotency_key"),
  key: word,
  digest: word,
  turn: position,
  at: time,
});

const TitleJobLine = z.strictObject({ kind: z.literal("title_job"), due_at: time });

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
  idempotency_key: { table: "idempotency_keys", line: IdempotencyKeyLine },
  title_job: { table: "title_jobs", line: TitleJobLine },
} as const;

export type Kind = keyof typeof KINDS;

/** Columns that are JSON text in the store. */
export const JSON_COLUMNS: ReadonlySet<string> = new Set([
  "sessions.user_state",
  "messages.tool_calls",
  "messages.tool_results",
  "messages.extras",
  "turns.usage",
  "turns.options",
  "steps.usage",
  "steps.parts",
  "system_events.item",
  "actions.asked",
  "actions.result",
]);

/** Columns that are not exported, because the importing store assigns or computes them. */
export const COMPUTED_COLUMNS: Readonly<Record<string, readonly string[]>> = {
  sessions: ["key", "life", "event_floor", "message_bytes", "event_bytes", "epoch", "used_at", "retention"],
  turns: ["session_key", "attempt_at", "epoch", "runnable", "behind_waiting"],
};

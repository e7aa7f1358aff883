// Tables and column lists. Statements list their columns, because a prepared `SELECT *` breaks when a newer node adds a
// column.

import { ACTION_FIELDS } from "../core/action.ts";
import type { Columns } from "../core/field.ts";
import { FILE_FIELDS } from "../core/file.ts";
import { MESSAGE_FIELDS } from "../core/message.ts";
import { isEmptySession, SESSION_FIELDS, type SessionRecord } from "../core/session.ts";
import { TURN_FIELDS } from "../core/turn.ts";
import { tableOf } from "./record-table.ts";

/**
 * Returns the retention class of a session: 0 if empty (short expiry), 1 without wallet and owner (long expiry), 2
 * otherwise (never expires).
 */
export function retentionOf(
  session: Parameters<typeof isEmptySession>[0] & Pick<SessionRecord, "publicKey" | "owner">,
): 0 | 1 | 2 {
  if (isEmptySession(session)) return 0;
  return session.publicKey === null && session.owner === null ? 1 : 2;
}

/** Extra cells take the time of the last use, in milliseconds since the Unix epoch. */
export const SESSIONS = tableOf(SESSION_FIELDS, ["key"], {
  used_at: { type: "bigint", toCell: (_session, at) => at },
  retention: { type: "smallint", toCell: retentionOf },
});

const OF_SESSION = {
  session_key: { type: "bigint", fixed: true, toCell: (_record: unknown, key: number) => key },
} as const;

// Extra cells take the session's key.
export const MESSAGES = tableOf(MESSAGE_FIELDS, ["session_key", "position"], OF_SESSION);
export const TURNS = tableOf(TURN_FIELDS, ["session_key", "number"], OF_SESSION);
export const ACTIONS = tableOf(ACTION_FIELDS, ["session_key", "number"], OF_SESSION);
export const FILES = tableOf(FILE_FIELDS, ["session_key", "id"], OF_SESSION);

const { retention: _notRead, ...ofSessions } = SESSIONS.columns;
/** Columns read for a session: all except `retention`, plus `event_floor`, which drafts do not change. */
export const SESSION = listOf({ ...ofSessions, event_floor: "bigint" });
export const MESSAGE = listOf(MESSAGES.columns);
export const TURN = listOf(TURNS.columns);
export const ACTION = listOf(ACTIONS.columns);
export const FILE = listOf(FILES.columns);
export const STEP = "turn, number, finish_reason, usage, text, parts";
export const APP_KEY = "id, name, apps, digest, created_at, expires_at, revoked_at, scopes";
export const SECRET = "app, client_id, name, key_id, sealed";

function listOf(columns: Columns): string {
  return Object.keys(columns).join(", ");
}

/** Qualifies each column with a table alias. */
export function of(alias: string, columns: string): string {
  return columns.replaceAll(/\w+/g, (name) => `${alias}.${name}`);
}

/**
 * Tables whose rows are deleted with their session, in this order: leases first, because checkpoints lock them. A trigger
 * deletes those of `files`.
 */
export const TABLES_OF_SESSIONS = [
  "leases",
  "messages",
  "turns",
  "steps",
  "checkpoints",
  "events",
  "system_events",
  "idempotency_keys",
  "title_jobs",
  "actions",
] as const;

// The columns of each table, with their types in PostgreSQL; SQLite uses the names only. Statements name their columns: a prepared one
// with `*` would break when a newer node adds a column.

export type Columns = Readonly<Record<string, "bigint" | "integer" | "smallint" | "text">>;

/** A table whose rows commands change. The cells of its rows have the order of these columns. */
export interface ChangingTable {
  readonly changing: Columns;
  readonly key: Columns;
  readonly fixed: Columns;
}

const OF_SESSION = { session_key: "bigint", number: "bigint" } as const;

const CHANGING_OF_SESSIONS = {
  app: "text",
  title: "text",
  title_source: "text",
  status: "text",
  model: "text",
  model_chosen: "smallint",
  model_app: "text",
  utility_model: "text",
  public_key: "text",
  wallet_id: "text",
  wallet_proved: "smallint",
  owned_by: "text",
  user_state: "text",
  pinned: "smallint",
  head: "bigint",
  message_count: "bigint",
  turn_count: "bigint",
  message_bytes: "bigint",
  event_bytes: "bigint",
  epoch: "bigint",
  updated_at: "bigint",
  used_at: "bigint",
} as const;

export const SESSIONS = {
  changing: { ...CHANGING_OF_SESSIONS, retention: "smallint" },
  key: { key: "bigint" },
  fixed: { id: "text", spelling: "text", life: "text", created_at: "bigint" },
} as const satisfies ChangingTable;

export const MESSAGES = {
  changing: { status: "text", tool_calls: "text", tool_results: "text", content: "text", extras: "text" },
  key: { session_key: "bigint", position: "bigint" },
  fixed: { id: "text", turn: "bigint", role: "text", created_at: "bigint" },
} as const satisfies ChangingTable;

export const TURNS = {
  changing: {
    agent_position: "bigint",
    state: "text",
    attempts: "integer",
    steps: "integer",
    ran_ms: "bigint",
    model: "text",
    started_at: "bigint",
    attempt_at: "bigint",
    epoch: "bigint",
    runnable: "smallint",
    behind_waiting: "smallint",
    usage: "text",
    failure: "text",
    ended_at: "bigint",
    options: "text",
  },
  key: OF_SESSION,
  fixed: { user_position: "bigint", client_id: "text", enqueued_at: "bigint" },
} as const satisfies ChangingTable;

export const ACTIONS = {
  changing: {
    status: "text",
    result: "text",
    claim: "text",
    claim_expires_at: "bigint",
    resolved_at: "bigint",
  },
  key: OF_SESSION,
  fixed: {
    id: "text",
    turn: "bigint",
    call_id: "text",
    tool: "text",
    asked: "text",
    created_at: "bigint",
    expires_at: "bigint",
  },
} as const satisfies ChangingTable;

/** Returns the columns of a new row. */
export function allOf({ changing, key, fixed }: ChangingTable): Columns {
  return { ...changing, ...key, ...fixed };
}

/** The columns of a session that are read: all but `retention`, and the floor, which drafts do not change. */
export const SESSION = listOf({
  ...SESSIONS.key,
  ...SESSIONS.fixed,
  ...CHANGING_OF_SESSIONS,
  event_floor: "bigint",
});
export const MESSAGE = listOf(allOf(MESSAGES));
export const TURN = listOf(allOf(TURNS));
export const ACTION = listOf(allOf(ACTIONS));
export const STEP = "turn, number, finish_reason, usage, text, parts";
export const APP_KEY = "id, name, apps, digest, created_at, expires_at, revoked_at, scopes";
export const SECRET = "app, client_id, name, key_id, sealed";

function listOf(columns: Columns): string {
  return Object.keys(columns).join(", ");
}

/** Qualifies columns with an alias. */
export function of(alias: string, columns: string): string {
  return columns.replaceAll(/\w+/g, (name) => `${alias}.${name}`);
}

/** The tables with rows of a session, which are removed with it. */
export const TABLES_OF_SESSIONS = [
  "messages",
  "turns",
  "steps",
  "checkpoints",
  "events",
  "system_events",
  "leases",
  "idempotency_keys",
  "title_jobs",
  "actions",
] as const;

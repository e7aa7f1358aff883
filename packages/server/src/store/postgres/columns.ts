// The columns of each table to read. A prepared statement with `*` would break when a newer node adds a
// column.

export const SESSION =
  "key, id, spelling, life, app, title, title_source, status, model, model_chosen, model_app, utility_model, public_key, user_state, pinned, " +
  "head, event_floor, message_count, turn_count, message_bytes, event_bytes, epoch, created_at, updated_at, used_at";

export const MESSAGE =
  "session_key, position, id, turn, role, status, created_at, tool_calls, tool_results, content";

export const TURN =
  "session_key, number, state, user_position, agent_position, attempts, steps, ran_ms, model, started_at, attempt_at, " +
  "epoch, runnable, behind_waiting, client_id, usage, failure, enqueued_at, ended_at";

export const STEP = "turn, number, finish_reason, usage, text, parts";

export const ACTION =
  "session_key, number, id, turn, call_id, tool, asked, status, result, created_at, expires_at, resolved_at";

export const APP_KEY = "id, name, apps, digest, created_at, expires_at, revoked_at";

export const SECRET = "app, client_id, name, key_id, sealed";

/** Qualifies columns with an alias. */
export function of(alias: string, columns: string): string {
  return columns.replaceAll(/\w+/g, (name) => `${alias}.${name}`);
}

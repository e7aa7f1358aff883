import type { ActionStore } from "../core/ports/driven/store.ts";
import { appOf } from "../core/session.ts";
import { ACTION } from "./columns.ts";
import { type ActionRow, toAction } from "./rows.ts";
import { look, ofSession, type On, prepare, read, type SharedPort, timeGiven } from "./shared.ts";

const keyOf = prepare<[string], { readonly key: number }>("SELECT key FROM sessions WHERE id = $1");
// Two small reads, because one statement would read every action of the session. `number > 0` is always
// true, and makes even a plan for an empty table use the index by number.
const shown = prepare<[number, number], ActionRow>(
  (on) => `SELECT * FROM (
     SELECT ${ACTION} FROM actions ${on.sqlite("INDEXED BY actions_pending")}
     WHERE session_key = $1 AND number > 0 AND status = 'pending'
     UNION ALL
     SELECT * FROM (
       SELECT ${ACTION} FROM actions WHERE session_key = $1 AND number > 0 AND status <> 'pending' ORDER BY number DESC LIMIT $2
     ) AS ended
   ) AS shown ORDER BY number`,
);
const caller = prepare<[string, string], { readonly app: string | null; readonly client_id: string | null }>(
  `SELECT s.app, t.client_id FROM sessions s
   JOIN actions a ON a.session_key = s.key AND a.id = $2 JOIN turns t ON t.session_key = s.key AND t.number = a.turn
   WHERE s.id = $1`,
);

/**
 * Selects sessions whose actions or claims of actions have expired at `time`. The previous version does not
 * remove the claim of an action that it ends.
 */
function dueAt(on: On, time: string): string {
  return `(
    SELECT session_key, expires_at AS due_at FROM actions ${on.sqlite("INDEXED BY actions_due")}
    WHERE status = 'pending' AND expires_at <= ${time}
    UNION ALL
    SELECT session_key, claim_expires_at FROM actions ${on.sqlite("INDEXED BY actions_claimed")}
    WHERE claim_expires_at IS NOT NULL AND claim_expires_at <= ${time} AND status = 'pending'
  ) AS due`;
}

const isAnyDue = prepare<[number | null], object>(
  (on) => `SELECT 1 AS found FROM ${dueAt(on, timeGiven("$1", on))} LIMIT 1`,
);
/** Returns the sessions with due actions, the most overdue first. */
export const dueSessions = prepare<[at: number, limit: number], { readonly id: string }>(
  (on) => `SELECT (SELECT id FROM sessions WHERE key = session_key) AS id FROM ${dueAt(on, "$1")}
   GROUP BY session_key ORDER BY min(due_at), session_key LIMIT $2`,
);

export const actions: SharedPort<ActionStore> = {
  list: read(ofSession, function* (_at, sessionId, limit) {
    const session = yield* keyOf.get(sessionId);
    return session === undefined ? null : (yield* shown.all(session.key, limit)).map(toAction);
  }),
  callerOf: look(ofSession, function* (_at, sessionId, actionId) {
    const found = yield* caller.get(sessionId, actionId);
    return found === undefined ? null : { app: appOf(found), clientId: found.client_id };
  }),
  isAnyDue: look("actions", function* (at) {
    return (yield* isAnyDue.get(at)) !== undefined;
  }),
};

import type { ActionStore, ApprovalCursor } from "../core/ports/driven/store.ts";
import { appOf } from "../core/session.ts";
import { ACTION, of } from "./columns.ts";
import { type ActionRow, toAction } from "./rows.ts";
import { inList, look, ofSession, type On, prepare, read, type SharedPort, timeOrNow } from "./shared.ts";

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

interface ApprovalRow extends ActionRow {
  readonly session_id: string;
}

// For a single rule, so that the index returns the rows in order. Only their keys: an input may be large.
const keysForRule = prepare<
  [rule: string, owner: string, at: number, id: string, now: number | null, limit: number],
  { readonly created_at: number; readonly id: string }
>(
  (on) => `SELECT a.created_at, a.id FROM actions a ${on.sqlite("INDEXED BY actions_of_approvers")}
   JOIN sessions s ON s.key = a.session_key JOIN turns t ON t.session_key = a.session_key AND t.number = a.turn
   WHERE a.approver_rule = $1 AND a.status = 'pending' AND a.approver_rule IS NOT NULL
     AND (a.approvers = 'also' OR (coalesce(s.owned_by, '') <> $2 AND coalesce(t.client_id, '') <> $2))
     AND (a.created_at, a.id) > ($3::bigint, $4::text) AND a.expires_at > ${timeOrNow("$5", on)}
   ORDER BY a.created_at, a.id LIMIT $6`,
);
const byIds = prepare<[readonly string[]], ActionRow>(
  (on) => `SELECT ${ACTION} FROM actions ${on.sqlite("INDEXED BY actions_with_approvers")}
   WHERE id ${inList(on, "$1", "text")} AND approver_rule IS NOT NULL`,
);
const withApprovers = prepare<[string], ApprovalRow>(
  (on) => `SELECT ${of("a", ACTION)}, s.id AS session_id
   FROM actions a ${on.sqlite("INDEXED BY actions_with_approvers")} JOIN sessions s ON s.key = a.session_key
   WHERE a.id = $1 AND a.approver_rule IS NOT NULL LIMIT 1`,
);

const START: ApprovalCursor = { createdAt: -1, id: "" };

/** Orders actions of several sessions. */
export function oldestFirst(left: ApprovalCursor, right: ApprovalCursor): number {
  return left.createdAt - right.createdAt || (left.id < right.id ? -1 : left.id > right.id ? 1 : 0);
}

/**
 * Selects sessions with expired actions, expired claims or due reminders at `time`. Nodes of the previous
 * version leave the claim and the reminder of an action that they end.
 */
function dueAt(on: On, time: string): string {
  return `(
    SELECT session_key, expires_at AS due_at FROM actions ${on.sqlite("INDEXED BY actions_due")}
    WHERE status = 'pending' AND expires_at <= ${time}
    UNION ALL
    SELECT session_key, claim_expires_at FROM actions ${on.sqlite("INDEXED BY actions_claimed")}
    WHERE claim_expires_at IS NOT NULL AND claim_expires_at <= ${time} AND status = 'pending'
    UNION ALL
    SELECT session_key, remind_at FROM actions ${on.sqlite("INDEXED BY actions_to_remind")}
    WHERE remind_at IS NOT NULL AND remind_at <= ${time} AND status = 'pending'
  ) AS due`;
}

const isAnyDue = prepare<[number | null], object>(
  (on) => `SELECT 1 AS found FROM ${dueAt(on, timeOrNow("$1", on))} LIMIT 1`,
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
  forApprover: read("actions", function* (at, { rules, owner, after, limit }) {
    const { createdAt, id } = after ?? START;
    const keys: ApprovalCursor[] = [];
    for (const rule of rules) {
      const found = yield* keysForRule.all(rule, owner, createdAt, id, at, limit);
      keys.push(...found.map((key) => ({ createdAt: key.created_at, id: key.id })));
    }
    const page = keys.toSorted(oldestFirst).slice(0, limit);
    if (page.length === 0) return [];
    return (yield* byIds.all(page.map((key) => key.id))).map(toAction).toSorted(oldestFirst);
  }),
  findForApprover: look("actions", function* (_at, actionId) {
    const found = yield* withApprovers.get(actionId);
    return found === undefined ? null : { sessionId: found.session_id, action: toAction(found) };
  }),
  isAnyDue: look("actions", function* (at) {
    return (yield* isAnyDue.get(at)) !== undefined;
  }),
};

import type { ActionStore } from "../../core/ports/driven/store.ts";
import { appOf } from "../../core/session.ts";
import { toAction, type ActionRow } from "../rows.ts";
import { ofSession, type Calls } from "./calls.ts";
import { timeGiven } from "./numbers.ts";
import { prepare } from "./statement.ts";
import { ACTION } from "../columns.ts";

const keyOf = prepare<[string], { readonly key: number }>("SELECT key FROM sessions WHERE id = $1");
// Two small reads, because a single condition would read every action of the session. `number > 0` is always
// true, and makes even a plan for an empty table use the index by number.
const shown = prepare<[number, number], ActionRow>(
  `SELECT ${ACTION} FROM (
     SELECT ${ACTION} FROM actions WHERE session_key = $1 AND number > 0 AND status = 'pending'
     UNION ALL
     (SELECT ${ACTION} FROM actions WHERE session_key = $1 AND number > 0 AND status <> 'pending' ORDER BY number DESC LIMIT $2)
   ) AS shown ORDER BY number`,
);
const caller = prepare<[string, string], { readonly app: string | null; readonly client_id: string | null }>(
  `SELECT s.app, t.client_id FROM sessions s
   JOIN actions a ON a.session_key = s.key AND a.id = $2 JOIN turns t ON t.session_key = s.key AND t.number = a.turn
   WHERE s.id = $1`,
);
const isDue = prepare<[number | null], { readonly due: boolean }>(
  `SELECT EXISTS (SELECT 1 FROM actions WHERE status = 'pending' AND expires_at <= ${timeGiven("$1")})
     OR EXISTS (SELECT 1 FROM actions WHERE status = 'pending' AND claim_expires_at <= ${timeGiven("$1")}) AS due`,
);

export function actionsOf(calls: Calls): ActionStore {
  return {
    list: (sessionId, limit) =>
      calls.read(ofSession(sessionId), async (connection) => {
        const session = await keyOf.get(connection, sessionId);
        if (session === undefined) return null;
        return (await shown.all(connection, session.key, limit)).map(toAction);
      }),
    callerOf: (sessionId, actionId) =>
      calls.read(ofSession(sessionId), async (connection) => {
        const found = await caller.get(connection, sessionId, actionId);
        return found === undefined ? null : { app: appOf(found), clientId: found.client_id };
      }),
    isAnyDue: () =>
      calls.look("actions", async (connection, at) => (await isDue.get(connection, at))?.due ?? false),
  };
}

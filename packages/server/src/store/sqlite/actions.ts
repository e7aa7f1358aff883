import type { DatabaseSync } from "node:sqlite";
import { decideAction, decideExpiry, actionDisposition } from "../../core/commands/actions.ts";
import type { ActionStore } from "../../core/ports/driven/action-store.ts";
import type { Synchronous } from "./calls.ts";
import { toAction, type ActionRow } from "../rows.ts";
import { prepare } from "./statement.ts";
import { answer, type Transaction } from "./transaction.ts";

export function prepareActions(database: DatabaseSync, transaction: Transaction): Synchronous<ActionStore> {
  const { facts, change, draft, write } = transaction;
  const shown = prepare<[number, number], ActionRow>(
    database,
    `SELECT * FROM (
       SELECT * FROM actions INDEXED BY actions_pending WHERE session_key = ?1 AND status = 'pending'
       UNION ALL
       SELECT * FROM (SELECT * FROM actions WHERE session_key = ?1 AND status <> 'pending' ORDER BY number DESC LIMIT ?2)
     ) ORDER BY number`,
  );
  const byId = prepare<[number, string], ActionRow>(
    database,
    "SELECT * FROM actions WHERE session_key = ? AND id = ?",
  );
  const due = prepare<[number, number], { readonly session_key: number }>(
    database,
    `SELECT session_key FROM actions INDEXED BY actions_due WHERE status = 'pending' AND expires_at <= ?
     GROUP BY session_key ORDER BY min(expires_at), session_key LIMIT ?`,
  );
  return {
    list: (_at, sessionId, limit) => {
      const session = facts.sessionById(sessionId);
      return session === null ? null : shown.all(session.key, limit).map(toAction);
    },
    decide: (at, sessionId, actionId, given, apps) =>
      change(
        at,
        { id: sessionId, birth: null, load: false },
        (draft) => {
          const row = byId.get(draft.session.key, actionId);
          const action = row === undefined ? null : toAction(row);
          return decideAction(draft, facts.openTurns(draft.session), action, given, apps);
        },
        actionDisposition,
      ),
    isAnyDue: (at) => due.get(at, 1) !== undefined,
    expire: (at, limit) =>
      due.all(at, limit).map(({ session_key }) => {
        const session = facts.sessionByKey(session_key);
        if (session === null) throw new Error(`Session ${session_key} is gone, and its actions are not`);
        const change = draft(session, at);
        const arrived = decideExpiry(change, facts.openTurns(session));
        write(session, change);
        return answer(facts, change, { arrived }, false, false);
      }),
  };
}

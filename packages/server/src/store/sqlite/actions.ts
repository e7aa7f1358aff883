import type { ActionStore } from "../../core/ports/driven/store.ts";
import type { Synchronous } from "./calls.ts";
import { toAction, type ActionRow } from "../rows.ts";
import type { Prepare } from "./statement.ts";
import type { Transaction } from "./transaction.ts";

export function prepareActions(prepare: Prepare, transaction: Transaction): Synchronous<ActionStore> {
  const { facts } = transaction;
  const shown = prepare<[number, number], ActionRow>(`SELECT * FROM (
       SELECT * FROM actions INDEXED BY actions_pending WHERE session_key = ?1 AND status = 'pending'
       UNION ALL
       SELECT * FROM (SELECT * FROM actions WHERE session_key = ?1 AND status <> 'pending' ORDER BY number DESC LIMIT ?2)
     ) ORDER BY number`);
  const due = prepare<[number], object>(
    "SELECT 1 FROM actions INDEXED BY actions_due WHERE status = 'pending' AND expires_at <= ? LIMIT 1",
  );
  return {
    list: (_at, sessionId, limit) => {
      const session = facts.sessionById(sessionId);
      return session === null ? null : shown.all(session.key, limit).map(toAction);
    },
    isAnyDue: (at) => due.get(at) !== undefined,
  };
}

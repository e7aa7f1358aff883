import type { ActionStore } from "../../core/ports/driven/store.ts";
import type { Synchronous } from "./calls.ts";
import { appOf } from "../../core/session.ts";
import { type ActionRow, toAction } from "../rows.ts";
import type { Prepare } from "./database.ts";
import type { Transaction } from "./transaction.ts";

/**
 * Selects the sessions with due actions: those whose time is over, and those whose claim is. The previous version leaves the claim of an
 * action that it ends. `?1` is the time.
 */
export const DUE = `(
    SELECT session_key, expires_at AS due_at FROM actions INDEXED BY actions_due WHERE status = 'pending' AND expires_at <= ?1
    UNION ALL
    SELECT session_key, claim_expires_at FROM actions INDEXED BY actions_claimed
    WHERE claim_expires_at IS NOT NULL AND claim_expires_at <= ?1 AND status = 'pending'
  )`;

export function prepareActions(prepare: Prepare, transaction: Transaction): Synchronous<ActionStore> {
  const { facts } = transaction;
  const shown = prepare<[number, number], ActionRow>(`SELECT * FROM (
       SELECT * FROM actions INDEXED BY actions_pending WHERE session_key = ?1 AND status = 'pending'
       UNION ALL
       SELECT * FROM (SELECT * FROM actions WHERE session_key = ?1 AND status <> 'pending' ORDER BY number DESC LIMIT ?2)
     ) ORDER BY number`);
  const due = prepare<[number], object>(`SELECT 1 FROM ${DUE} LIMIT 1`);
  const caller = prepare<
    [number, string],
    { readonly client_id: string | null }
  >(`SELECT client_id FROM turns WHERE session_key = ?1
       AND number = (SELECT turn FROM actions WHERE session_key = ?1 AND id = ?2)`);
  return {
    list: (_at, sessionId, limit) => {
      const session = facts.sessionById(sessionId);
      return session === null ? null : shown.all(session.key, limit).map(toAction);
    },
    callerOf: (_at, sessionId, actionId) => {
      const session = facts.sessionById(sessionId);
      const found = session === null ? undefined : caller.get(session.key, actionId);
      return session === null || found === undefined
        ? null
        : { app: appOf(session), clientId: found.client_id };
    },
    isAnyDue: (at) => due.get(at) !== undefined,
  };
}

import { decideAction, decideExpiry, actionDisposition } from "../../core/commands/actions.ts";
import type { ActionStore } from "../../core/ports/driven/action-store.ts";
import { toAction, type ActionRow } from "../rows.ts";
import { ofSession, type Calls } from "./calls.ts";
import { writeOf } from "./draft-writer.ts";
import { prepare } from "./statement.ts";
import { Transaction } from "./transaction.ts";
import { ACTION } from "./columns.ts";

const keyOf = prepare<[string], { readonly key: number }>("SELECT key FROM sessions WHERE id = $1");
// Two reads of a few rows each; with one condition for both every action of the session is read. `number > 0` is true of all of them: it
// makes the index by number the best one also for a plan that was made when the table was empty.
const shown = prepare<[number, number], ActionRow>(
  `SELECT ${ACTION} FROM (
     SELECT ${ACTION} FROM actions WHERE session_key = $1 AND number > 0 AND status = 'pending'
     UNION ALL
     (SELECT ${ACTION} FROM actions WHERE session_key = $1 AND number > 0 AND status <> 'pending' ORDER BY number DESC LIMIT $2)
   ) AS shown ORDER BY number`,
);
const isDue = prepare<[number | null], { readonly due: boolean }>(
  `SELECT EXISTS (SELECT 1 FROM actions WHERE status = 'pending'
     AND expires_at <= coalesce($1::bigint, floor(extract(epoch FROM now()) * 1000)::bigint)) AS due`,
);
const due = prepare<[number, number], { readonly id: string }>(
  `SELECT (SELECT id FROM sessions WHERE key = session_key) AS id FROM actions WHERE status = 'pending' AND expires_at <= $1
   GROUP BY session_key ORDER BY min(expires_at), session_key LIMIT $2`,
);

export function actionsOf(calls: Calls): ActionStore {
  return {
    list: (sessionId, limit) =>
      calls.read(ofSession(sessionId), async (connection) => {
        const session = await keyOf.get(connection, sessionId);
        if (session === undefined) return null;
        return (await shown.all(connection, session.key, limit)).map(toAction);
      }),
    decide: (sessionId, actionId, given, apps) =>
      calls.change(sessionId, { turns: true, action: actionId }, (transaction, at) =>
        transaction.change(
          at,
          { id: sessionId, birth: null, load: false },
          (draft, state) => decideAction(draft, state.openTurns(), state.action(actionId), given, apps),
          actionDisposition,
        ),
      ),
    isAnyDue: () =>
      calls.look("actions", async (connection, at) => (await isDue.get(connection, at))?.due ?? false),
    expire: (limit) =>
      calls.alone("actions", async (connection, at) => {
        const ids = (await due.all(connection, at, limit)).map(({ id }) => id);
        if (ids.length === 0) return [];
        const transaction = await Transaction.begin(connection, {
          sessions: new Map(ids.map((id) => [id, [{ turns: true }]])),
          // One that somebody holds is looked at again a second later.
          patience: "passes over",
          epochs: 0,
          births: new Set(),
        });
        const expired = ids.flatMap((id) => {
          const state = transaction.byId(id);
          if (state === null) return [];
          const draft = transaction.draft(state, at);
          const arrived = decideExpiry(draft, state.openTurns());
          // Somebody may have decided while this waited for the lock.
          return draft.session === state.session ? [] : [transaction.keep(state, draft, { arrived })];
        });
        await writeOf(transaction.changes)(connection);
        return expired;
      }),
  };
}

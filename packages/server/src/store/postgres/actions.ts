import type { ActionStore } from "../../core/ports/driven/store.ts";
import { toAction, type ActionRow } from "../rows.ts";
import { ofSession, type Calls } from "./calls.ts";
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
const isDue = prepare<[number | null], { readonly due: boolean }>(
  `SELECT EXISTS (SELECT 1 FROM actions WHERE status = 'pending'
     AND expires_at <= coalesce($1::bigint, floor(extract(epoch FROM now()) * 1000)::bigint)) AS due`,
);

export function actionsOf(calls: Calls): ActionStore {
  return {
    list: (sessionId, limit) =>
      calls.read(ofSession(sessionId), async (connection) => {
        const session = await keyOf.get(connection, sessionId);
        if (session === undefined) return null;
        return (await shown.all(connection, session.key, limit)).map(toAction);
      }),
    isAnyDue: () =>
      calls.look("actions", async (connection, at) => (await isDue.get(connection, at))?.due ?? false),
  };
}

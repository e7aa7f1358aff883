import type { AdminStore, StoredCounts } from "../../core/ports/driven/admin-store.ts";
import {
  APPS_OF_SESSIONS,
  BEFORE_ALL,
  countAsked,
  listsOf,
  SEE_ENDED,
  seeSessions,
  seeTurns,
  toCounts,
  toEnded,
  toSeenSession,
  toSeenTurn,
  type AskedRow,
  type EndedTurnRow,
  type SeenSessionRow,
  type SeenTurnRow,
} from "../admin-rows.ts";
import type { Calls } from "./calls.ts";
import type { Connection } from "./connections.ts";
import { timeGiven } from "./numbers.ts";
import { prepare } from "./statement.ts";

const HINTS = { openTurns: "", pendingActions: "" };
const SEE_SESSIONS = seeSessions(HINTS);

const time = prepare<[number | null], { readonly at: number }>(`SELECT ${timeGiven("$1")} AS at`);
const names = prepare<[], { readonly app: string }>(APPS_OF_SESSIONS);
const asked = prepare<[number], AskedRow>(countAsked("$1::bigint"));
const owners = prepare<[number | null], StoredCounts["owners"][number]>(
  `SELECT owner, count(*) AS running FROM leases WHERE expires_at > ${timeGiven("$1")} GROUP BY owner ORDER BY owner`,
);

const countsOf = (app: string) =>
  listsOf(app, "$1::text").map((condition) =>
    prepare<[string, number], { readonly count: number }>(
      `SELECT count(*) AS count FROM (SELECT 1 FROM sessions s WHERE ${condition} AND $1::text IS NOT NULL LIMIT $2::bigint) AS few`,
    ),
  );
const countsOfDefault = countsOf("default");
const countsOfOther = countsOf("other");

/** The first places after a place, in each of an App's lists by use. */
const placesOf = (app: string, parameter: string) =>
  listsOf(app, parameter)
    .map(
      (condition) => `(SELECT s.used_at, s.key FROM sessions s
        WHERE ${condition} AND s.used_at <= $2::bigint AND (s.used_at < $2::bigint OR s.key < $3::bigint)
        ORDER BY s.used_at DESC, s.key DESC LIMIT $4::bigint)`,
    )
    .join(" UNION ALL ");
// Finds the keys first, so that only the turns of listed sessions are read.
const used = prepare<[readonly string[], number, number, number], SeenSessionRow>(
  `${SEE_SESSIONS} WHERE s.key = ANY (ARRAY(
     SELECT key FROM (
       SELECT p.used_at, p.key FROM unnest($1::text[]) AS named (app)
         CROSS JOIN LATERAL (${placesOf("other", "named.app")}) AS p
         WHERE named.app <> 'default'
       UNION ALL SELECT d.used_at, d.key FROM (${placesOf("default", "")}) AS d
         WHERE 'default' = ANY ($1::text[])
     ) AS places ORDER BY used_at DESC, key DESC LIMIT $4::bigint))
   ORDER BY s.used_at DESC, s.key DESC`,
);

const open = prepare<[number, number], SeenSessionRow>(
  `${SEE_SESSIONS} WHERE s.key IN (
     SELECT DISTINCT session_key FROM turns WHERE ended_at IS NULL AND session_key < $1::bigint
     ORDER BY session_key DESC LIMIT $2::bigint)
   ORDER BY s.key DESC`,
);
const byId = prepare<[string], SeenSessionRow>(`${SEE_SESSIONS} WHERE s.id = $1`);
const keyOf = prepare<[string], { readonly key: number }>("SELECT key FROM sessions WHERE id = $1");
const turns = prepare<[number, number, number], SeenTurnRow>(
  `${seeTurns(HINTS)} WHERE t.session_key = $1 AND t.number < $2::bigint ORDER BY t.number DESC LIMIT $3::bigint`,
);
const ended = prepare<[number, number, number, number, number], EndedTurnRow>(
  `${SEE_ENDED} FROM turns t JOIN sessions s ON s.key = t.session_key
   WHERE t.ended_at >= s.created_at AND t.ended_at >= $1::bigint AND (t.ended_at, t.session_key, t.number) < ($2::bigint, $3::bigint, $4::bigint)
   ORDER BY t.ended_at DESC, t.session_key DESC, t.number DESC LIMIT $5::bigint`,
);

export function adminOf(calls: Calls): AdminStore {
  return {
    now: () => calls.look(null, async (connection, at) => (await time.get(connection, at))?.at ?? 0),
    counts: (limit) =>
      Promise.all([
        calls.look(null, (connection) => asked.get(connection, limit)),
        calls.look(null, (connection, at) => owners.all(connection, at)),
      ]).then(([row, found]) => toCounts(row, found)),
    ...sessionListsWith(calls),
    find: (id) =>
      calls.look(null, async (connection) => {
        const row = await byId.get(connection, id);
        return row === undefined ? null : toSeenSession(row);
      }),
    turns: (id, below, limit) =>
      calls.read("admin", async (connection) => {
        const session = await keyOf.get(connection, id);
        if (session === undefined) return null;
        const rows = await turns.all(connection, session.key, below ?? Number.MAX_SAFE_INTEGER, limit);
        return rows.map(toSeenTurn);
      }),
    ended: ({ from, to, after, limit }) =>
      calls.look(null, async (connection) => {
        const { endedAt, sessionKey, number } = after ?? { endedAt: to, sessionKey: 0, number: 0 };
        return (await ended.all(connection, from, endedAt, sessionKey, number, limit)).map(toEnded);
      }),
  };
}

function sessionListsWith(calls: Calls): Pick<AdminStore, "apps" | "used" | "open"> {
  return {
    apps: (limit) =>
      calls.read("admin", async (connection) => {
        const counted: { readonly app: string; readonly sessions: number }[] = [];
        for (const app of await namesIn(connection)) {
          let sessions = 0;
          for (const count of app === "default" ? countsOfDefault : countsOfOther)
            sessions += (await count.get(connection, app, limit))?.count ?? 0;
          if (sessions > 0) counted.push({ app, sessions: Math.min(limit, sessions) });
        }
        return counted;
      }),
    used: ({ app, after, limit }) =>
      calls.read("admin", async (connection) => {
        const { usedAt, key } = after ?? BEFORE_ALL;
        const apps = app === null ? await namesIn(connection) : [app];
        return (await used.all(connection, apps, usedAt, key, limit)).map(toSeenSession);
      }),
    open: ({ below, limit }) =>
      calls.look(null, async (connection) =>
        (await open.all(connection, below ?? Number.MAX_SAFE_INTEGER, limit)).map(toSeenSession),
      ),
  };
}

async function namesIn(connection: Connection): Promise<readonly string[]> {
  return (await names.all(connection)).map(({ app }) => app);
}

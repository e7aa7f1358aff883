import type { AdminStore, StoredCounts } from "../core/ports/driven/admin-store.ts";
import { DEFAULT_APP } from "../core/session.ts";
import {
  APPS_OF_SESSIONS,
  COUNT_ASKED,
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
} from "./admin-rows.ts";
import { inList, look, prepare, read, type SharedPort, timeGiven, type Work } from "./shared.ts";

const now = prepare<[number | null], { readonly at: number }>((on) => `SELECT ${timeGiven("$1", on)} AS at`);
const names = prepare<[], { readonly app: string }>(APPS_OF_SESSIONS);
const asked = prepare<[number], AskedRow>(COUNT_ASKED);
const owners = prepare<[number | null], StoredCounts["owners"][number]>(
  (on) =>
    `SELECT owner, count(*) AS running FROM leases WHERE expires_at > ${timeGiven("$1", on)} GROUP BY owner ORDER BY owner`,
);

const countsOf = (app: string) =>
  listsOf(app, "$1::text").map((condition) =>
    prepare<[string, number], { readonly count: number }>(
      `SELECT count(*) AS count FROM (SELECT 1 FROM sessions s WHERE ${condition} AND $1::text IS NOT NULL LIMIT $2::bigint) AS few`,
    ),
  );
const countsOfDefault = countsOf(DEFAULT_APP);
const countsOfOther = countsOf("other");

const byKeys = prepare<[readonly number[]], SeenSessionRow>(
  (on) => `${seeSessions(on)} WHERE s.key ${inList(on, "$1", "bigint")} ORDER BY s.used_at DESC, s.key DESC`,
);
const open = prepare<[number, number], SeenSessionRow>(
  (on) => `${seeSessions(on)} WHERE s.key IN (
     SELECT DISTINCT session_key FROM turns ${on.sqlite("INDEXED BY turns_open")}
     WHERE ended_at IS NULL AND session_key < $1::bigint ORDER BY session_key DESC LIMIT $2::bigint)
   ORDER BY s.key DESC`,
);
const byId = prepare<[string], SeenSessionRow>((on) => `${seeSessions(on)} WHERE s.id = $1`);
const keyOf = prepare<[string], { readonly key: number }>("SELECT key FROM sessions WHERE id = $1");
const turns = prepare<[number, number, number], SeenTurnRow>(
  (on) =>
    `${seeTurns(on)} WHERE t.session_key = $1 AND t.number < $2::bigint ORDER BY t.number DESC LIMIT $3::bigint`,
);
const ended = prepare<[number, number, number, number, number], EndedTurnRow>(
  (
    on,
  ) => `${SEE_ENDED} FROM turns t ${on.sqlite("INDEXED BY turns_by_end CROSS")} JOIN sessions s ON s.key = t.session_key
   WHERE t.ended_at >= s.created_at AND t.ended_at >= $1::bigint AND (t.ended_at, t.session_key, t.number) < ($2::bigint, $3::bigint, $4::bigint)
   ORDER BY t.ended_at DESC, t.session_key DESC, t.number DESC LIMIT $5::bigint`,
);

/** Each database merges the lists of `used` in its own way. */
export const admin: SharedPort<Omit<AdminStore, "used">> = {
  now: look("admin", function* (at) {
    return (yield* now.get(at))?.at ?? 0;
  }),
  counts: read("admin", function* (at, limit) {
    return toCounts(yield* asked.get(limit), yield* owners.all(at));
  }),
  apps: read("admin", function* (_at, limit) {
    const counted: { readonly app: string; readonly sessions: number }[] = [];
    for (const app of yield* appNames()) {
      let sessions = 0;
      for (const count of app === DEFAULT_APP ? countsOfDefault : countsOfOther)
        sessions += (yield* count.get(app, limit))?.count ?? 0;
      if (sessions > 0) counted.push({ app, sessions: Math.min(limit, sessions) });
    }
    return counted;
  }),
  open: look("admin", function* (_at, { below, limit }) {
    return (yield* open.all(below ?? Number.MAX_SAFE_INTEGER, limit)).map(toSeenSession);
  }),
  find: look("admin", function* (_at, id) {
    const row = yield* byId.get(id);
    return row === undefined ? null : toSeenSession(row);
  }),
  turns: read("admin", function* (_at, id, below, limit) {
    const session = yield* keyOf.get(id);
    if (session === undefined) return null;
    return (yield* turns.all(session.key, below ?? Number.MAX_SAFE_INTEGER, limit)).map(toSeenTurn);
  }),
  ended: look("admin", function* (_at, { from, to, after, limit }) {
    const { endedAt, sessionKey, number } = after ?? { endedAt: to, sessionKey: 0, number: 0 };
    return (yield* ended.all(from, endedAt, sessionKey, number, limit)).map(toEnded);
  }),
};

/** Returns the names of all Apps with sessions. */
export function* appNames(): Work<readonly string[]> {
  return (yield* names.all()).map(({ app }) => app);
}

/** Returns sessions by their keys, in the order of use. */
export function* seenByKeys(keys: readonly number[]) {
  return (yield* byKeys.all(keys)).map(toSeenSession);
}

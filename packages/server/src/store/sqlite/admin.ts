import type { AdminStore, StoredCounts, UsePlace } from "../../core/ports/driven/admin-store.ts";
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
import type { Synchronous } from "./calls.ts";
import { newestPlaces, type ReadPlaces } from "./newest-places.ts";
import type { Prepare } from "./database.ts";

const HINTS = { openTurns: "INDEXED BY turns_open", pendingActions: "INDEXED BY actions_pending" };
const SEE_SESSIONS = seeSessions(HINTS);

type Admin = Synchronous<AdminStore>;

export function prepareAdmin(prepare: Prepare): Admin {
  const names = prepare<[], { readonly app: string }>(APPS_OF_SESSIONS);
  return {
    now: (at) => at,
    counts: prepareCounts(prepare),
    ...prepareSessionLists(prepare, () => names.all().map(({ app }) => app)),
    ...prepareSession(prepare),
    ended: prepareEnded(prepare),
  };
}

function prepareCounts(prepare: Prepare): Admin["counts"] {
  const asked = prepare<[number], AskedRow>(countAsked("?1"));
  const owners = prepare<[number], StoredCounts["owners"][number]>(
    "SELECT owner, count(*) AS running FROM leases WHERE expires_at > ? GROUP BY owner ORDER BY owner",
  );
  return (at, limit) => toCounts(asked.get(limit), owners.all(at));
}

function prepareSessionLists(
  prepare: Prepare,
  names: () => readonly string[],
): Pick<Admin, "apps" | "used" | "open"> {
  const byApp = (app: string) =>
    listsOf(app, "?1").map((condition) => ({
      read: prepare<
        [string, number, number, number],
        UsePlace
      >(`SELECT s.used_at AS usedAt, s.key FROM sessions s
         WHERE ${condition} AND s.used_at <= ?2 AND (s.used_at < ?2 OR s.key < ?3) AND ?1 IS NOT NULL
         ORDER BY s.used_at DESC, s.key DESC LIMIT ?4`),
      count: prepare<[string, number], { readonly count: number }>(
        `SELECT count(*) AS count FROM (SELECT 1 FROM sessions s WHERE ${condition} AND ?1 IS NOT NULL LIMIT ?2)`,
      ),
    }));
  const [ofDefault, ofOther] = [byApp("default"), byApp("other")];
  const listsFor = (app: string) => (app === "default" ? ofDefault : ofOther);
  const openKeys = prepare<
    [number, number],
    { readonly session_key: number }
  >(`SELECT DISTINCT session_key FROM turns INDEXED BY turns_open WHERE ended_at IS NULL AND session_key < ?
     ORDER BY session_key DESC LIMIT ?`);
  const byKey = prepare<[number], SeenSessionRow>(`${SEE_SESSIONS} WHERE s.key = ?`);
  const seen = (key: number) => byKey.all(key).map(toSeenSession);
  return {
    apps: (_at, limit) =>
      names().flatMap((app) => {
        const counts = listsFor(app).map(({ count }) => count.get(app, limit)?.count ?? 0);
        const sessions = Math.min(
          limit,
          counts.reduce((sum, count) => sum + count, 0),
        );
        return sessions === 0 ? [] : [{ app, sessions }];
      }),
    used: (_at, { app, after, limit }) => {
      const lists = (app === null ? names() : [app]).flatMap((name) =>
        listsFor(name).map(
          ({ read }): ReadPlaces =>
            ({ usedAt, key }, most) =>
              read.all(name, usedAt, key, most),
        ),
      );
      return newestPlaces(lists, after ?? BEFORE_ALL, limit).flatMap(({ key }) => seen(key));
    },
    open: (_at, { below, limit }) =>
      openKeys.all(below ?? Number.MAX_SAFE_INTEGER, limit).flatMap(({ session_key: key }) => seen(key)),
  };
}

function prepareSession(prepare: Prepare): Pick<Admin, "find" | "turns"> {
  const byId = prepare<[string], SeenSessionRow>(`${SEE_SESSIONS} WHERE s.id = ?`);
  const keyOf = prepare<[string], { readonly key: number }>("SELECT key FROM sessions WHERE id = ?");
  const turns = prepare<[number, number, number], SeenTurnRow>(
    `${seeTurns(HINTS)} WHERE t.session_key = ? AND t.number < ? ORDER BY t.number DESC LIMIT ?`,
  );
  return {
    find: (_at, id) => {
      const row = byId.get(id);
      return row === undefined ? null : toSeenSession(row);
    },
    turns: (_at, id, below, limit) => {
      const session = keyOf.get(id);
      if (session === undefined) return null;
      return turns.all(session.key, below ?? Number.MAX_SAFE_INTEGER, limit).map(toSeenTurn);
    },
  };
}

function prepareEnded(prepare: Prepare): Admin["ended"] {
  const ended = prepare<
    [number, number, number, number, number],
    EndedTurnRow
  >(`${SEE_ENDED} FROM turns t INDEXED BY turns_by_end CROSS JOIN sessions s ON s.key = t.session_key
     WHERE t.ended_at >= s.created_at AND t.ended_at >= ? AND (t.ended_at, t.session_key, t.number) < (?, ?, ?)
     ORDER BY t.ended_at DESC, t.session_key DESC, t.number DESC LIMIT ?`);
  return (_at, { from, to, after, limit }) => {
    const { endedAt, sessionKey, number } = after ?? { endedAt: to, sessionKey: 0, number: 0 };
    return ended.all(from, endedAt, sessionKey, number, limit).map(toEnded);
  };
}

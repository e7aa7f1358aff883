// Bounded reads for operators, over all Apps and processes.

import type {
  SeenSummary,
  AdminStore,
  EndedTurn,
  SeenSession,
  SeenTurn,
  StoredCounts,
  UsePlace,
} from "../core/ports/driven/admin-store.ts";
import type { SummaryRecord } from "../core/message.ts";
import { DEFAULT_APP } from "../core/session.ts";
import { TURNS } from "./columns.ts";
import { toTurn, type TurnRow } from "./rows.ts";
import { LOOSE_APPS } from "./sessions.ts";
import {
  change,
  inList,
  look,
  type On,
  prepare,
  read,
  type SharedPort,
  timeOrNow,
  type Work,
} from "./shared.ts";

/** A turn with its lease and the latest deadline of its pending actions. */
interface SeenTurnRow extends TurnRow {
  readonly owner: string | null;
  readonly taken_at: number | null;
  readonly lease_expires_at: number | null;
  readonly decide_by: number | null;
  readonly finish_reason: string | null;
}

/** A turn joined to its session, with prefixed columns. */
type TurnOfSessionRow = { readonly [Name in keyof SeenTurnRow as `turn_${Name}`]: SeenTurnRow[Name] | null };

interface SeenSessionRow extends TurnOfSessionRow {
  readonly key: number;
  readonly id: string;
  readonly spelling: string | null;
  readonly app: string;
  readonly title: string;
  readonly model: string;
  readonly public_key: string | null;
  readonly message_count: number;
  readonly turn_count: number;
  readonly created_at: number;
  readonly updated_at: number;
  readonly used_at: number;
}

const LEASE_OF_TURN = "LEFT JOIN leases l ON l.session_key = t.session_key AND t.state = 'running'";

function turnColumns(prefix: string, on: On): string {
  const own = Object.keys(TURNS.columns).map((name) => `t.${name} AS ${prefix}${name}`);
  const decideBy = `SELECT max(a.expires_at) FROM actions a ${on.sqlite("INDEXED BY actions_pending")}
    WHERE a.session_key = t.session_key AND a.turn = t.number AND a.status = 'pending'`;
  const finishReason = `SELECT st.finish_reason FROM steps st
    WHERE st.session_key = t.session_key AND st.turn = t.number ORDER BY st.number DESC LIMIT 1`;
  const more = [
    `l.owner AS ${prefix}owner`,
    `l.taken_at AS ${prefix}taken_at`,
    `l.expires_at AS ${prefix}lease_expires_at`,
    `CASE WHEN t.state = 'waiting' THEN (${decideBy}) END AS ${prefix}decide_by`,
    `(${finishReason}) AS ${prefix}finish_reason`,
  ];
  return [...own, ...more].join(", ");
}

/** Reads sessions `s`; the caller appends conditions and order. */
function seeSessions(on: On): string {
  return `SELECT s.key, s.id, s.spelling, coalesce(s.app, 'default') AS app, s.title, s.model, s.public_key, s.message_count,
    s.turn_count, s.created_at, s.updated_at, s.used_at, ${turnColumns("turn_", on)}
  FROM sessions s
  LEFT JOIN turns t ON t.session_key = s.key AND t.number = coalesce(
    (SELECT min(o.number) FROM turns o ${on.sqlite("INDEXED BY turns_open")} WHERE o.session_key = s.key AND o.ended_at IS NULL), s.turn_count)
  ${LEASE_OF_TURN}`;
}

interface EndedTurnRow {
  readonly session_key: number;
  readonly number: number;
  readonly app: string;
  readonly state: EndedTurn["state"];
  readonly model: string | null;
  readonly agent_position: number | null;
  readonly usage: string;
  readonly enqueued_at: number;
  readonly started_at: number | null;
  readonly ended_at: number;
  readonly ran_ms: number;
}

const now = prepare<[number | null], { readonly at: number }>((on) => `SELECT ${timeOrNow("$1", on)} AS at`);
// One index lookup per App.
const names = prepare<[], { readonly app: string }>(
  `WITH RECURSIVE ${LOOSE_APPS}, bound (app) AS (
    SELECT (SELECT coalesce(app, 'default') FROM sessions WHERE retention = 2 ORDER BY coalesce(app, 'default') LIMIT 1)
    UNION ALL
    SELECT (SELECT coalesce(s.app, 'default') FROM sessions s
      WHERE s.retention = 2 AND coalesce(s.app, 'default') > bound.app ORDER BY coalesce(s.app, 'default') LIMIT 1)
    FROM bound WHERE bound.app IS NOT NULL
  )
  SELECT app FROM loose WHERE app IS NOT NULL UNION SELECT app FROM bound WHERE app IS NOT NULL UNION SELECT 'default' ORDER BY app`,
);
const asked = prepare<[number], Pick<StoredCounts, "asking"> & { readonly pending: number }>(
  `SELECT
     (SELECT count(*) FROM (SELECT DISTINCT session_key FROM actions WHERE status = 'pending' LIMIT $1::bigint) AS few) AS asking,
     (SELECT count(*) FROM (SELECT 1 FROM actions WHERE status = 'pending' LIMIT $1::bigint) AS few) AS pending`,
);
const owners = prepare<[number | null], StoredCounts["owners"][number]>(
  (on) => `SELECT owner, count(*) AS running FROM leases WHERE expires_at > ${timeOrNow("$1", on)}
   GROUP BY owner ORDER BY owner`,
);

/** The position before every session. */
export const BEFORE_ALL: UsePlace = { usedAt: Number.MAX_SAFE_INTEGER, key: Number.MAX_SAFE_INTEGER };

/**
 * Conditions of the lists of an App's sessions `s` by use: one for each kind of retention (`retentionOf`),
 * because each has an index. SQLite uses a partial index only if the query repeats its condition, `retention
 * < 2`. `appParameter` stands for the App's name, which the default App does not need.
 */
export function listsOf(app: string, appParameter: string): readonly string[] {
  const inDefault = "coalesce(s.app, 'default') = 'default'";
  const loose = app === DEFAULT_APP ? inDefault : `s.app <> 'default' AND s.app = ${appParameter}`;
  return [
    `s.retention < 2 AND s.retention = 0 AND ${loose}`,
    `s.retention < 2 AND s.retention = 1 AND ${loose}`,
    `s.retention = 2 AND coalesce(s.app, 'default') = ${app === DEFAULT_APP ? "'default'" : appParameter}`,
  ];
}

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
  (on) => `SELECT ${turnColumns("", on)} FROM turns t ${LEASE_OF_TURN}
   WHERE t.session_key = $1 AND t.number < $2::bigint ORDER BY t.number DESC LIMIT $3::bigint`,
);
const summaries = prepare<[string], { readonly turn: number; readonly summary: string }>(
  `SELECT turn, summary FROM messages
   WHERE session_key = (SELECT key FROM sessions WHERE id = $1) AND summary IS NOT NULL ORDER BY position`,
);
// Copied turns ended before their session began.
const ended = prepare<[number, number, number, number, number], EndedTurnRow>(
  (on) => `SELECT t.session_key, t.number, coalesce(s.app, 'default') AS app, t.state, t.model,
     t.agent_position, t.usage, t.enqueued_at, t.started_at, t.ended_at, t.ran_ms
   FROM turns t ${on.sqlite("INDEXED BY turns_by_end CROSS")} JOIN sessions s ON s.key = t.session_key
   WHERE t.ended_at >= s.created_at AND t.ended_at >= $1::bigint
     AND (t.ended_at, t.session_key, t.number) < ($2::bigint, $3::bigint, $4::bigint)
   ORDER BY t.ended_at DESC, t.session_key DESC, t.number DESC LIMIT $5::bigint`,
);

/** Each database merges the lists of `used` in its own way. */
const handleKey = prepare<[], { readonly key: string }>("SELECT key FROM handle_key");
const addHandleKey = prepare<[string], { readonly key: string }>(
  `INSERT INTO handle_key (one, key) VALUES (1, $1)
   ON CONFLICT (one) DO UPDATE SET one = excluded.one RETURNING key`,
);

export const admin: SharedPort<Omit<AdminStore, "used">> = {
  now: look("admin", function* (at) {
    return (yield* now.get(at))?.at ?? 0;
  }),
  handleKey: change("admin", function* (_at, fresh) {
    // Writes nothing if there is one, so that a service starts on a full disk.
    return ((yield* handleKey.get()) ?? (yield* addHandleKey.get(fresh)))?.key ?? fresh;
  }),
  counts: read("admin", function* (at, limit) {
    const { asking = 0, pending = 0 } = (yield* asked.get(limit)) ?? {};
    return { asking, pendingActions: pending, owners: yield* owners.all(at) };
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
  summaries: look("admin", function* (_at, id) {
    return (yield* summaries.all(id)).map(({ turn, summary }): SeenSummary => {
      const { text: _, ...seen } = JSON.parse(summary) as SummaryRecord;
      return { turn, ...seen };
    });
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

function toSeenTurn(row: SeenTurnRow): SeenTurn {
  const { owner, taken_at: takenAt, lease_expires_at: expiresAt, decide_by: decideBy } = row;
  const { finish_reason: finishReason } = row;
  const lease = owner === null || expiresAt === null ? null : { owner, takenAt, expiresAt };
  return { turn: toTurn(row), lease, decideBy, finishReason };
}

function toSeenSession(row: SeenSessionRow): SeenSession {
  const named = Object.entries(row).filter(([name]) => name.startsWith("turn_") && name !== "turn_count");
  const turn = Object.fromEntries(named.map(([name, value]) => [name.slice("turn_".length), value]));
  return {
    key: row.key,
    id: row.id,
    spelling: row.spelling ?? row.id,
    app: row.app,
    title: row.title,
    model: row.model,
    publicKey: row.public_key,
    messageCount: row.message_count,
    turnCount: row.turn_count,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    usedAt: row.used_at,
    turn: row.turn_number === null ? null : toSeenTurn(turn as unknown as SeenTurnRow),
  };
}

function toEnded(row: EndedTurnRow): EndedTurn {
  const { inputTokens = 0, outputTokens = 0 } = JSON.parse(row.usage) as {
    readonly inputTokens?: number;
    readonly outputTokens?: number;
  };
  return {
    sessionKey: row.session_key,
    number: row.number,
    app: row.app,
    state: row.state,
    model: row.model,
    hasAnswer: row.agent_position !== null,
    inputTokens,
    outputTokens,
    enqueuedAt: row.enqueued_at,
    startedAt: row.started_at,
    endedAt: row.ended_at,
    ranMs: row.ran_ms,
  };
}

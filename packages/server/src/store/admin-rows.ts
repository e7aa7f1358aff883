// Rows of the admin queries, and the SQL that both dialects share, so that operators see the same with every
// store.

import type {
  EndedTurn,
  SeenSession,
  SeenTurn,
  StoredCounts,
  UsePlace,
} from "../core/ports/driven/admin-store.ts";
import { DEFAULT_APP } from "../core/session.ts";
import { allOf, TURNS } from "./columns.ts";
import { toTurn, type TurnRow } from "./rows.ts";
import { LOOSE_APPS } from "./sessions.ts";
import type { On } from "./shared.ts";

/** A turn with its lease and the latest deadline of its pending actions. */
export interface SeenTurnRow extends TurnRow {
  readonly owner: string | null;
  readonly taken_at: number | null;
  readonly lease_expires_at: number | null;
  readonly decide_by: number | null;
}

/** A turn joined to its session, with prefixed columns. */
type TurnOfSessionRow = { readonly [Name in keyof SeenTurnRow as `turn_${Name}`]: SeenTurnRow[Name] | null };

export interface SeenSessionRow extends TurnOfSessionRow {
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
  const own = Object.keys(allOf(TURNS)).map((name) => `t.${name} AS ${prefix}${name}`);
  const decideBy = `SELECT max(a.expires_at) FROM actions a ${on.sqlite("INDEXED BY actions_pending")}
    WHERE a.session_key = t.session_key AND a.turn = t.number AND a.status = 'pending'`;
  const more = [
    `l.owner AS ${prefix}owner`,
    `l.taken_at AS ${prefix}taken_at`,
    `l.expires_at AS ${prefix}lease_expires_at`,
    `CASE WHEN t.state = 'waiting' THEN (${decideBy}) END AS ${prefix}decide_by`,
  ];
  return [...own, ...more].join(", ");
}

/** Reads sessions `s`; the caller appends conditions and order. */
export function seeSessions(on: On): string {
  return `SELECT s.key, s.id, s.spelling, coalesce(s.app, 'default') AS app, s.title, s.model, s.public_key, s.message_count,
    s.turn_count, s.created_at, s.updated_at, s.used_at, ${turnColumns("turn_", on)}
  FROM sessions s
  LEFT JOIN turns t ON t.session_key = s.key AND t.number = coalesce(
    (SELECT min(o.number) FROM turns o ${on.sqlite("INDEXED BY turns_open")} WHERE o.session_key = s.key AND o.ended_at IS NULL), s.turn_count)
  ${LEASE_OF_TURN}`;
}

/** Reads turns `t`; the caller appends conditions. */
export function seeTurns(on: On): string {
  return `SELECT ${turnColumns("", on)} FROM turns t ${LEASE_OF_TURN}`;
}

export function toSeenTurn(row: SeenTurnRow): SeenTurn {
  const { owner, taken_at: takenAt, lease_expires_at: expiresAt, decide_by: decideBy } = row;
  const lease = owner === null || expiresAt === null ? null : { owner, takenAt, expiresAt };
  return { turn: toTurn(row), lease, decideBy };
}

export function toSeenSession(row: SeenSessionRow): SeenSession {
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

/** Counts pending actions and their sessions, up to a limit. */
export const COUNT_ASKED = `SELECT
  (SELECT count(*) FROM (SELECT DISTINCT session_key FROM actions WHERE status = 'pending' LIMIT $1::bigint) AS few) AS asking,
  (SELECT count(*) FROM (SELECT 1 FROM actions WHERE status = 'pending' LIMIT $1::bigint) AS few) AS pending`;

export interface AskedRow {
  readonly asking: number;
  readonly pending: number;
}

export function toCounts(row: AskedRow | undefined, owners: StoredCounts["owners"]): StoredCounts {
  return { asking: row?.asking ?? 0, pendingActions: row?.pending ?? 0, owners };
}

export interface EndedTurnRow {
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

/** Reads ended turns `t` with their sessions `s`; the caller appends FROM and conditions. Copied turns ended before their session began. */
export const SEE_ENDED = `SELECT t.session_key, t.number, coalesce(s.app, 'default') AS app, t.state, t.model, t.agent_position, t.usage,
    t.enqueued_at, t.started_at, t.ended_at, t.ran_ms`;

export function toEnded(row: EndedTurnRow): EndedTurn {
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

/**
 * Conditions of the lists of an App's sessions `s` by use: one for each kind of retention (`retentionOf`), because each has an index.
 * SQLite uses a partial index only if the query repeats its condition, `retention < 2`. `appParameter` stands for the App's name, which the
 * default App does not need.
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

/** Names of all Apps with sessions, each found by one index lookup. */
export const APPS_OF_SESSIONS = `WITH RECURSIVE ${LOOSE_APPS}, bound (app) AS (
    SELECT (SELECT coalesce(app, 'default') FROM sessions WHERE retention = 2 ORDER BY coalesce(app, 'default') LIMIT 1)
    UNION ALL
    SELECT (SELECT coalesce(s.app, 'default') FROM sessions s
      WHERE s.retention = 2 AND coalesce(s.app, 'default') > bound.app ORDER BY coalesce(s.app, 'default') LIMIT 1)
    FROM bound WHERE bound.app IS NOT NULL
  )
  SELECT app FROM loose WHERE app IS NOT NULL UNION SELECT app FROM bound WHERE app IS NOT NULL UNION SELECT 'default' ORDER BY app`;

/** The position before every session. */
export const BEFORE_ALL: UsePlace = { usedAt: Number.MAX_SAFE_INTEGER, key: Number.MAX_SAFE_INTEGER };

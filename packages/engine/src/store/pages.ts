// Pages of messages, events and threads, logs to trim, and sizes of sessions, shared by all adapters.

import { EVENT_PAGE_CHARACTERS, type EventPage, type EventStore } from "../core/ports/driven/store.ts";
import type { ListAccess, MessagePageEnd, ThreadQuery } from "../core/ports/driven/session-store.ts";
import type { NumberedEvent } from "../core/session-event.ts";
import type { SessionRecord } from "../core/session.ts";
import { type On, prepare, type Work } from "./shared.ts";

/** SQL for the bytes of a message. */
export const MESSAGE_BYTES =
  "(octet_length(content) + coalesce(octet_length(tool_calls), 0) + coalesce(octet_length(tool_results), 0) + coalesce(octet_length(extras), 0))";

/**
 * Counts the sizes of sessions, and corrects the `retention` that older versions gave to empty sessions with
 * a wallet. The caller appends the keys. The size of a message is an estimate: it includes 160 bytes for the
 * other fields, and ignores escapes.
 */
export const COUNT_SIZES = `UPDATE sessions SET
  message_bytes = (SELECT coalesce(sum(160 + ${MESSAGE_BYTES}), 0) FROM messages WHERE session_key = sessions.key),
  event_bytes = (SELECT coalesce(sum(octet_length(payload)), 0) FROM events WHERE session_key = sessions.key),
  retention = CASE
    WHEN message_count = 0 AND model_chosen = 0 AND utility_model IS NULL AND title_source = 'placeholder' THEN 0
    ELSE retention END
  WHERE key`;

type ThreadPlace = Pick<SessionRecord, "updatedAt" | "key">;

/** Positions before the first and after the last session, newest activity first. */
const BEFORE_ALL = { updatedAt: Number.MAX_SAFE_INTEGER, key: 0 };
const BEHIND_ALL = { updatedAt: -1, key: 0 };

/** Returns where a page of threads begins, among the pinned sessions and among the others. */
export function partsAfter(after: ThreadQuery["after"]): {
  readonly pinned: ThreadPlace;
  readonly others: ThreadPlace;
} {
  if (after === null) return { pinned: BEFORE_ALL, others: BEFORE_ALL };
  return after.pinned ? { pinned: after, others: BEFORE_ALL } : { pinned: BEHIND_ALL, others: after };
}

/** Returns what decides whether a list shows a session. The wallets decide only in lists of a wallet, in Apps that require proof. */
export function listedFor(publicKey: string | null, { apps, user, provedApps = [] }: ListAccess) {
  // No session has an empty owner.
  const { owner = "", apps: ownerApps = [], wallets = [] } = user ?? {};
  return { apps, owner, ownerApps, provedApps: publicKey === null ? [] : provedApps, wallets };
}

/**
 * Returns where a page of messages ends. `sizes` are the sizes of the next messages, in order, up to one more than `limit`.
 */
export function pageEnd(
  sizes: Iterable<{ readonly id: string; readonly bytes: number }>,
  limit: number,
  maxBytes: number,
): MessagePageEnd {
  let [last, count, total]: [string | null, number, number] = [null, 0, 0];
  for (const { id, bytes } of sizes) {
    if (count === limit || total >= maxBytes) return { last, hasMore: true };
    [last, count, total] = [id, count + 1, total + bytes];
  }
  return { last, hasMore: false };
}

export interface LogRow {
  readonly key: number;
  readonly life: string;
  readonly head: number;
  readonly event_floor: number;
}

export interface EventRow {
  readonly number: number;
  readonly payload: string;
}

/** Returns the first of these events, up to the one that brings them over `EVENT_PAGE_CHARACTERS`. */
export function eventPage({ life, head, event_floor: floor }: LogRow, rows: Iterable<EventRow>): EventPage {
  const events: NumberedEvent[] = [];
  let characters = 0;
  for (const { number, payload } of rows) {
    events.push({ number, event: JSON.parse(payload) as NumberedEvent["event"] });
    characters += payload.length;
    if (characters > EVENT_PAGE_CHARACTERS) break;
  }
  return { incarnation: life, head, floor, events };
}

/**
 * A log, and the number of the last event that may be trimmed, because it is neither recent nor among those
 * that are always kept.
 */
interface TrimmableRow {
  readonly key: number;
  readonly event_floor: number;
  readonly floor: number;
}

/**
 * Minimum length of logs in the separate index of long logs (migration 0001), so that trimming reads no
 * others.
 */
const LONG_LOG = 1000;
/** Maximum sessions that one call of `trim` examines. */
const LOOKED_AT = 1000;

const candidates = (longLogs: (on: On) => string) =>
  prepare<[number, number, number], TrimmableRow>(
    (on) => `SELECT key, event_floor, coalesce(
       (SELECT e.number - 1 FROM events e WHERE e.session_key = key AND e.number > event_floor
          AND e.number <= head - $1 AND e.at >= $3 ORDER BY e.number LIMIT 1),
       head - $1) AS floor
     FROM (SELECT key, head, event_floor FROM sessions ${longLogs(on)} head - event_floor > $1 AND key > $2
           ORDER BY key LIMIT ${LOOKED_AT}) AS long
     ORDER BY key`,
  );
const longerThan = candidates(() => "WHERE");
const longerThanMany = candidates(
  (on) => `${on.sqlite("INDEXED BY sessions_with_long_logs")} WHERE head - event_floor > ${LONG_LOG} AND`,
);

/**
 * Returns the logs to trim among those whose session's key is above `position`, and the next position. One
 * call examines a limited number of logs, because many may be long and recent.
 */
export function* trimmableLogs(
  { keepCount, keepAfter, limit }: Parameters<EventStore["trim"]>[0],
  position: number,
): Work<{ readonly logs: readonly TrimmableRow[]; readonly next: number }> {
  const find = keepCount >= LONG_LOG ? longerThanMany : longerThan;
  const rows = yield* find.all(keepCount, position, keepAfter);
  const trimmable = rows.filter(({ floor, event_floor }) => floor > event_floor);
  const first = trimmable[limit];
  // Start over after the last log.
  const next = first === undefined ? (rows.length < LOOKED_AT ? 0 : (rows.at(-1)?.key ?? 0)) : first.key - 1;
  return { logs: trimmable.slice(0, limit), next };
}

// Reads and trims the log of events. A session's row counts the bytes of its log. A removal needs the lock of that row, and
// corrects the count. A floor never decreases, even if a trim computed a lower floor before another node cut the log.

import {
  EVENT_LOG_CUT_BYTES,
  EVENT_PAGE_CHARACTERS,
  type EventStore,
} from "@colloquy/engine/internal/core/ports/driven/store";
import { eventPage, type EventRow, type LogRow, trimmableLogs } from "@colloquy/engine/internal/store/pages";
import { ofSession } from "@colloquy/engine/internal/store/shared";
import type { Calls } from "./calls.ts";
import type { Connection } from "./connections.ts";
import { lockSessions } from "./session-locks.ts";
import { prepare, runOn } from "./statement.ts";
import type { Write } from "./bulk.ts";

const DROP =
  "DELETE FROM events AS e USING given WHERE e.session_key = given.key AND e.number <= given.floor";

const dropUpTo = prepare<[readonly number[], readonly number[]]>(
  `WITH given AS (SELECT * FROM unnest($1::bigint[], $2::bigint[]) AS given (key, floor)),
   gone AS (${DROP} RETURNING e.session_key AS key, octet_length(e.payload) AS bytes),
   freed AS (SELECT key, sum(bytes) AS bytes FROM gone GROUP BY key)
   UPDATE sessions AS s
   SET event_floor = greatest(s.event_floor, given.floor),
     event_bytes = CASE WHEN s.event_bytes IS NOT NULL THEN greatest(0, s.event_bytes - coalesce(freed.bytes, 0)) END
   FROM given LEFT JOIN freed USING (key) WHERE s.key = given.key`,
);
// Sets the measured size, because a wrong count would make every commit measure the log.
const cut = prepare<[readonly number[], number]>(
  `WITH measured AS (
     SELECT session_key AS key, number, sum(octet_length(payload)) OVER (PARTITION BY session_key ORDER BY number DESC) AS kept
     FROM events WHERE session_key = ANY($1::bigint[])
   ), given AS (
     SELECT key, max(number) FILTER (WHERE kept > $2) AS floor, coalesce(max(kept) FILTER (WHERE kept <= $2), 0) AS bytes
     FROM measured GROUP BY key
   ), gone AS (${DROP})
   UPDATE sessions AS s SET event_floor = greatest(s.event_floor, given.floor), event_bytes = given.bytes
   FROM given WHERE s.key = given.key`,
);

/** Removes the events of each session up to its `floor`, inclusive. */
export function dropEvents(logs: readonly { readonly key: number; readonly floor: number }[]): Write {
  if (logs.length === 0) return () => Promise.resolve();
  const keys = logs.map(({ key }) => key);
  const floors = logs.map(({ floor }) => floor);
  return async (connection) => void (await dropUpTo.run(connection, keys, floors));
}

/** Drops the oldest events of logs whose counts in their rows are over the cap, and corrects the counts. */
export function cutLogs(keys: readonly number[]): Write {
  if (keys.length === 0) return () => Promise.resolve();
  return async (connection) => void (await cut.run(connection, keys, EVENT_LOG_CUT_BYTES));
}

const log = prepare<[string], LogRow>("SELECT key, life, head, event_floor FROM sessions WHERE id = $1");
// Cut the page in the database, so that it sends at most one page.
const page = prepare<[number, number, number], EventRow>(
  `SELECT number, payload FROM (
     SELECT number, payload, sum(length(payload)) OVER (ORDER BY number) - length(payload) AS before FROM (
       SELECT number, payload FROM events WHERE session_key = $1 AND number > $2 ORDER BY number LIMIT $3
     ) AS first
   ) AS measured
   WHERE before <= ${EVENT_PAGE_CHARACTERS} ORDER BY number`,
);

export function eventsOf(calls: Calls): EventStore {
  return {
    after: (sessionId, after, limit) =>
      calls.read(ofSession(sessionId), async (connection) => {
        const session = await log.get(connection, sessionId);
        if (session === undefined) return null;
        return eventPage(session, await page.all(connection, session.key, after, limit));
      }),
    trim: trimWith(calls),
  };
}

function trimWith(calls: Calls): EventStore["trim"] {
  let position = 0;
  return async (input) => {
    const { trimmed, next } = await calls.alone("trim", async (connection) => {
      const { logs, next } = await runOn(connection, trimmableLogs(input, position));
      return { trimmed: await trimLogs(connection, logs), next };
    });
    position = next;
    return trimmed;
  };
}

async function trimLogs(connection: Connection, rows: Parameters<typeof dropEvents>[0]): Promise<number> {
  if (rows.length === 0) return 0;
  // A log only grows and its events only get older, so `floor` still holds under the lock.
  const locked = await lockSessions(connection, { keys: rows.map(({ key }) => key) }, "passes over");
  const alive = new Set(locked.map(({ key }) => key));
  const trimmed = rows.filter(({ key }) => alive.has(key));
  await dropEvents(trimmed)(connection);
  return trimmed.length;
}

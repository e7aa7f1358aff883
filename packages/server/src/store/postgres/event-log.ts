// Drops the oldest events of sessions' logs, and keeps the byte counts in their rows correct. The rows must
// be locked. A floor never decreases, even if a trim computed a lower floor before another node cut the log.

import { EVENT_LOG_CUT_BYTES } from "../../core/ports/driven/event-store.ts";
import type { Write } from "./bulk.ts";
import { prepare } from "./statement.ts";

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

/** Drops the events of each session up to and with its `floor`. */
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

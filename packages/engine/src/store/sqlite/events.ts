// Reads and trims the log of events. A session's row counts the bytes of its log, and a removal corrects the count.

import { EVENT_LOG_CUT_BYTES, type EventStore } from "../../core/ports/driven/store.ts";
import type { Synchronous } from "./calls.ts";
import { eventPage, type EventRow, type LogRow, trimmableLogs } from "../pages.ts";
import { type Prepare, prepareWork } from "./database.ts";

export interface EventLog {
  /** Drops the events of a session whose numbers are at most `floor`. */
  dropUpTo(key: number, floor: number): void;
  /** Drops the oldest events of a log whose count in its row is over the cap, and corrects the count. */
  cut(key: number): void;
}

export function prepareEventLog(prepare: Prepare): EventLog {
  const bytesUpTo = prepare<[number, number], { readonly bytes: number }>(
    "SELECT coalesce(sum(octet_length(payload)), 0) AS bytes FROM events WHERE session_key = ? AND number <= ?",
  );
  const forget = prepare<[number, number]>("DELETE FROM events WHERE session_key = ? AND number <= ?");
  const raiseFloor = prepare<[number, number, number]>(
    "UPDATE sessions SET event_floor = max(event_floor, ?), event_bytes = max(0, event_bytes - ?) WHERE key = ?",
  );
  const measure = prepare<
    [number, number],
    { readonly floor: number | null; readonly bytes: number }
  >(`SELECT max(number) FILTER (WHERE kept > ?2) AS floor, coalesce(max(kept) FILTER (WHERE kept <= ?2), 0) AS bytes FROM (
       SELECT number, sum(octet_length(payload)) OVER (ORDER BY number DESC) AS kept FROM events WHERE session_key = ?1
     )`);
  const setBytes = prepare<[number, number]>("UPDATE sessions SET event_bytes = ? WHERE key = ?");
  const dropUpTo = (key: number, floor: number): void => {
    const bytes = bytesUpTo.get(key, floor)?.bytes ?? 0;
    forget.run(key, floor);
    raiseFloor.run(floor, bytes, key);
  };
  return {
    dropUpTo,
    cut(key) {
      const { floor, bytes } = measure.get(key, EVENT_LOG_CUT_BYTES) ?? { floor: null, bytes: 0 };
      if (floor !== null) dropUpTo(key, floor);
      // Sets the measured size, because a wrong count would make every commit measure the log.
      setBytes.run(bytes, key);
    },
  };
}

export function prepareEvents(prepare: Prepare): Synchronous<EventStore> {
  const log = prepare<[string], LogRow>("SELECT key, life, head, event_floor FROM sessions WHERE id = ?");
  const page = prepare<[number, number, number], EventRow>(
    "SELECT number, payload FROM events WHERE session_key = ? AND number > ? ORDER BY number LIMIT ?",
  );
  return {
    after: (_at, sessionId, after, limit) => {
      const session = log.get(sessionId);
      if (session === undefined) return null;
      return eventPage(session, page.iterate(session.key, after, limit));
    },
    trim: prepareTrim(prepare),
  };
}

function prepareTrim(prepare: Prepare): Synchronous<EventStore>["trim"] {
  const run = prepareWork(prepare);
  const eventLog = prepareEventLog(prepare);
  let position = 0;
  return (_at, input) => {
    const { logs, next } = run(trimmableLogs(input, position));
    position = next;
    for (const { key, floor } of logs) eventLog.dropUpTo(key, floor);
    return logs.length;
  };
}

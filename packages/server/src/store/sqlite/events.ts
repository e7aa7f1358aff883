// Reads and trims the log of events. A session's row counts the bytes of its log, and a removal corrects the count.

import { EVENT_LOG_CUT_BYTES, type EventStore } from "../../core/ports/driven/store.ts";
import type { Synchronous } from "./calls.ts";
import { eventPage, type EventRow, type LogRow, LONG_LOG, LOOKED_AT } from "../pages.ts";
import type { Prepare } from "./database.ts";

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
  const columns = "SELECT key, life, head, event_floor FROM sessions";
  const isLong = "head - event_floor > ?1 AND key > ?2 ORDER BY key LIMIT ?3";
  const longerThan = prepare<[number, number, number], LogRow>(`${columns} WHERE ${isLong}`);
  const longerThanMany = prepare<[number, number, number], LogRow>(
    `${columns} INDEXED BY sessions_with_long_logs WHERE head - event_floor > ${LONG_LOG} AND ${isLong}`,
  );
  const firstYoung = prepare<
    [number, number, number, number],
    { readonly number: number }
  >(`SELECT number FROM events WHERE session_key = ? AND number > ? AND number <= ? AND at >= ?
     ORDER BY number LIMIT 1`);
  const eventLog = prepareEventLog(prepare);
  // Continue after the last call: many logs may be long and young, and one call must not read all of them.
  let position = 0;
  return (_at, { keepCount, keepAfter, limit }) => {
    const statement = keepCount >= LONG_LOG ? longerThanMany : longerThan;
    const candidates = statement.all(keepCount, position, LOOKED_AT);
    position = candidates.length < LOOKED_AT ? 0 : (candidates.at(-1)?.key ?? 0);
    let trimmed = 0;
    for (const { key, head, event_floor } of candidates) {
      if (trimmed === limit) {
        position = Math.min(position === 0 ? key - 1 : position, key - 1);
        break;
      }
      const last = head - keepCount;
      const young = firstYoung.get(key, event_floor, last, keepAfter);
      const floor = young === undefined ? last : young.number - 1;
      if (floor <= event_floor) continue;
      eventLog.dropUpTo(key, floor);
      trimmed += 1;
    }
    return trimmed;
  };
}

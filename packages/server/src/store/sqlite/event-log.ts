// Drops the oldest events of a session's log, and keeps the byte count in its row correct.

import { EVENT_LOG_CUT_BYTES } from "../../core/ports/driven/event-store.ts";
import type { Prepare } from "./statement.ts";

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

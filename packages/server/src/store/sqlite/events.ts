import type { EventStore } from "../../core/ports/driven/event-store.ts";
import type { Synchronous } from "./calls.ts";
import { eventPage, LONG_LOG, LOOKED_AT, type EventRow, type LogRow } from "../pages.ts";
import { prepareEventLog } from "./event-log.ts";
import type { Prepare } from "./statement.ts";

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

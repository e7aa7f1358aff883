import { EVENT_PAGE_CHARACTERS, type EventStore } from "../../core/ports/driven/event-store.ts";
import type { NumberedEvent } from "../../core/session-event.ts";
import type { Synchronous } from "./calls.ts";
import { prepareEventLog } from "./event-log.ts";
import type { Prepare } from "./statement.ts";

interface LogRow {
  readonly key: number;
  readonly life: string;
  readonly head: number;
  readonly event_floor: number;
}

/**
 * Minimum length of logs in the separate index of long logs (migration 0001), so that trimming reads no
 * others.
 */
const LONG_LOG = 1000;
/** Maximum sessions that one call of `trim` examines. */
const LOOKED_AT = 1000;

export function prepareEvents(prepare: Prepare): Synchronous<EventStore> {
  const log = prepare<[string], LogRow>("SELECT key, life, head, event_floor FROM sessions WHERE id = ?");
  const page = prepare<[number, number, number], { readonly number: number; readonly payload: string }>(
    "SELECT number, payload FROM events WHERE session_key = ? AND number > ? ORDER BY number LIMIT ?",
  );
  return {
    after: (_at, sessionId, after, limit) => {
      const session = log.get(sessionId);
      if (session === undefined) return null;
      const events: NumberedEvent[] = [];
      let characters = 0;
      for (const { number, payload } of page.iterate(session.key, after, limit)) {
        events.push({ number, event: JSON.parse(payload) as NumberedEvent["event"] });
        characters += payload.length;
        if (characters > EVENT_PAGE_CHARACTERS) break;
      }
      return { life: session.life, head: session.head, floor: session.event_floor, events };
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

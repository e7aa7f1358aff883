import { EVENT_PAGE_CHARACTERS, type EventStore } from "../../core/ports/driven/event-store.ts";
import { eventPage, LONG_LOG, LOOKED_AT, type EventRow, type LogRow } from "../pages.ts";
import { ofSession, type Calls } from "./calls.ts";
import type { Connection } from "./connections.ts";
import { dropEvents } from "./event-log.ts";
import { lockSessions } from "./session-locks.ts";
import { prepare } from "./statement.ts";

const log = prepare<[string], LogRow>("SELECT key, life, head, event_floor FROM sessions WHERE id = $1");
// The database cuts the page, so that it sends one page at most.
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

/** A log, and the number of its last event that is neither young nor among those that are always kept. */
interface TrimmableRow {
  readonly key: number;
  readonly event_floor: number;
  readonly floor: number;
}

const candidates = (isLong: string) =>
  prepare<[number, number, number], TrimmableRow>(
    `SELECT key, event_floor, coalesce(
       (SELECT e.number - 1 FROM events e WHERE e.session_key = key AND e.number > event_floor
          AND e.number <= head - $1 AND e.at >= $3 ORDER BY e.number LIMIT 1),
       head - $1) AS floor
     FROM (SELECT key, head, event_floor FROM sessions WHERE ${isLong} AND head - event_floor > $1 AND key > $2
           ORDER BY key LIMIT ${LOOKED_AT}) AS long
     ORDER BY key`,
  );
const longerThan = candidates("true");
const longerThanMany = candidates(`head - event_floor > ${LONG_LOG}`);

function trimWith(calls: Calls): EventStore["trim"] {
  // Continue after the last call: many logs may be long and young, and one call must not read all of them.
  let position = 0;
  return async ({ keepCount, keepAfter, limit }) => {
    const find = keepCount >= LONG_LOG ? longerThanMany : longerThan;
    const { trimmed, next } = await calls.alone("trim", async (connection) => {
      const rows = await find.all(connection, keepCount, position, keepAfter);
      const trimmable = rows.filter(({ floor, event_floor }) => floor > event_floor);
      const taken = trimmable.slice(0, limit);
      const first = trimmable[limit];
      // Start over after the last log.
      const next =
        first === undefined ? (rows.length < LOOKED_AT ? 0 : (rows.at(-1)?.key ?? 0)) : first.key - 1;
      return { trimmed: await trimLogs(connection, taken), next };
    });
    position = next;
    return trimmed;
  };
}

async function trimLogs(connection: Connection, rows: readonly TrimmableRow[]): Promise<number> {
  if (rows.length === 0) return 0;
  // A log only grows and its events only get older, so `floor` still holds under the lock.
  const locked = await lockSessions(connection, { keys: rows.map(({ key }) => key) }, "passes over");
  const alive = new Set(locked.map(({ key }) => key));
  const trimmed = rows.filter(({ key }) => alive.has(key));
  await dropEvents(trimmed)(connection);
  return trimmed.length;
}

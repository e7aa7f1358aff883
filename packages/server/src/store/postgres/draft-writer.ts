// Writes the drafts of a transaction: one statement per table and kind of change, all pipelined.

import { EVENT_LOG_MAX_BYTES } from "../../core/ports/driven/store.ts";
import { SYSTEM_EVENTS_SHOWN } from "../../core/session-event.ts";
import { ACTIONS, MESSAGES, SESSIONS, TABLES_OF_SESSIONS, TURNS } from "../columns.ts";
import {
  actionCells,
  actionRow,
  changingCells,
  lastingCells,
  messageCells,
  messageRow,
  turnCells,
  turnRow,
} from "../cells.ts";
import { AUDIT } from "../audit.ts";
import { prepareDelete, prepareInsert, prepareTable, prepareUpdate, type Write } from "./bulk.ts";
import type { Removal } from "../../core/commands/draft.ts";
import type { Changes } from "./changes.ts";
import type { Connection } from "./connections.ts";
import { cutLogs } from "./events.ts";
import type { SessionState } from "./session-state.ts";
import { prepare, together } from "./statement.ts";

const OF_SESSION = { session_key: "bigint" } as const;
const PLACE = { ...OF_SESSION, number: "bigint" } as const;

const sessions = prepareTable("sessions", SESSIONS);
const messages = prepareTable("messages", MESSAGES);
const turns = prepareTable("turns", TURNS);
const actions = prepareTable("actions", ACTIONS);

const insertAudit = prepareInsert("audit", AUDIT, "(once) DO NOTHING");
const noteDeleted = prepareInsert(
  "deleted_sessions",
  { id: "text", until: "bigint" },
  "(id) DO UPDATE SET until = excluded.until",
);
const noteUses = prepareUpdate("sessions", { used_at: "bigint" }, { key: "bigint" });
const removals = TABLES_OF_SESSIONS.map(
  (table): string => `DELETE FROM ${table} WHERE session_key = ANY($1::bigint[])`,
)
  .concat("DELETE FROM sessions WHERE key = ANY($1::bigint[])")
  .map((text) => prepare<[readonly number[]]>(text));

const insertEvents = prepareInsert("events", { ...PLACE, at: "bigint", payload: "text" });
const insertSystemEvents = prepareInsert("system_events", { ...PLACE, item: "text" });
const keepLastSystemEvents = prepareDelete("system_events", OF_SESSION, {
  further: `old.number <= (SELECT number FROM system_events AS s WHERE s.session_key = given.session_key
      ORDER BY number DESC LIMIT 1 OFFSET ${SYSTEM_EVENTS_SHOWN})`,
});

const insertSteps = prepareInsert("steps", {
  session_key: "bigint",
  turn: "bigint",
  number: "integer",
  finish_reason: "text",
  usage: "text",
  text: "text",
  parts: "text",
});

const OF_TURN = { ...OF_SESSION, turn: "bigint" } as const;
const takeBackText = prepareDelete("checkpoints", OF_TURN, {
  also: { offset: "bigint" },
  further: `old."offset" >= given."offset"`,
});
const keepText = prepareInsert("checkpoints", { ...OF_TURN, offset: "bigint", text: "text" });

const takeLeases = prepareInsert(
  "leases",
  { session_key: "bigint", owner: "text", epoch: "bigint", taken_at: "bigint", expires_at: "bigint" },
  `(session_key) DO UPDATE SET owner = excluded.owner, epoch = excluded.epoch, taken_at = excluded.taken_at, expires_at = excluded.expires_at`,
);
const giveUpLeases = prepareDelete("leases", OF_SESSION);

const addTitleJobs = prepareInsert(
  "title_jobs",
  { session_key: "bigint", due_at: "bigint" },
  "(session_key) DO UPDATE SET due_at = excluded.due_at",
);
const deleteTitleJobs = prepareDelete("title_jobs", OF_SESSION);

const rememberKeys = prepareInsert(
  "idempotency_keys",
  { session_key: "bigint", key: "text", digest: "text", turn: "bigint", at: "bigint" },
  "(session_key, key) DO UPDATE SET digest = excluded.digest, turn = excluded.turn, at = excluded.at",
);

/**
 * Returns the statements that write the changes. Statements of one connection run in send order, so rows are
 * removed before new ones are inserted. Throws before anything is sent if a value cannot be serialized. The
 * returned function sends everything before it returns its promise, so that a COMMIT may follow at once.
 */
export function writeOf(changes: Changes): Write {
  const writes = writesOf(changes);
  return async (connection) => void (await together(writes.map((write) => write(connection))));
}

function writesOf(changes: Changes): readonly Write[] {
  const streamed = [...changes.streamed.values()];
  const appended = new Set(changes.events.map(([key]) => key));
  const overfull = [...changes.sessions].flatMap(([key, { state }]) =>
    appended.has(key) && (state.session.eventBytes ?? 0) > EVENT_LOG_MAX_BYTES ? [key] : [],
  );
  return [
    ...[...changes.removals].flatMap(([key, removal]) => writesOfRemoval(key, removal)),
    ...writesOfSessions([...changes.sessions.values()]),
    ...[...changes.floors].flatMap(([key, floor]) => writesOfFloor(key, floor)),
    messages.insert(changes.messages.added(messageRow)),
    messages.update(
      changes.messages.changed((key, message) => [...messageCells(message), key, message.position]),
    ),
    turns.insert(changes.turns.added(turnRow)),
    turns.update(changes.turns.changed((key, turn) => [...turnCells(turn), key, turn.number])),
    insertSteps(
      changes.steps.map(({ key, turn, step }) => [
        key,
        turn,
        step.number,
        step.finishReason,
        JSON.stringify(step.usage),
        step.text,
        JSON.stringify(step.parts),
      ]),
    ),
    takeBackText(streamed.map(({ key, turn, from }) => [key, turn, from])),
    keepText(
      streamed.flatMap(({ key, turn, pieces }) =>
        pieces.map(({ offset, text }) => [key, turn, offset, text]),
      ),
    ),
    insertEvents(changes.events),
    cutLogs(overfull),
    insertSystemEvents(changes.systemEvents),
    keepLastSystemEvents([...new Set(changes.systemEvents.map(([key]) => key ?? null))].map((key) => [key])),
    actions.insert(changes.actions.added(actionRow)),
    actions.update(changes.actions.changed((key, action) => [...actionCells(action), key, action.number])),
    ...writesOfDuties(changes),
    insertAudit(changes.audited),
    noteDeleted(changes.deleted),
    // Last, because it also removes rows that earlier commands of this transaction wrote for these sessions.
    (connection) => removeSessions(connection, [...changes.removed]),
  ];
}

const removeMessages = prepare<[number, number]>(
  "DELETE FROM messages WHERE session_key = $1 AND position >= $2",
);
const removeOfTurns = ["steps", "checkpoints", "actions"].map((table) =>
  prepare<[number, readonly number[]]>(
    `DELETE FROM ${table} WHERE session_key = $1 AND turn = ANY($2::bigint[])`,
  ),
);
const removeTurns = prepare<[number, readonly number[]]>(
  "DELETE FROM turns WHERE session_key = $1 AND number = ANY($2::bigint[])",
);
const removeSystemEvents = prepare<[number, string]>(
  "DELETE FROM system_events WHERE session_key = $1 AND item::json ->> 'created_at' >= $2",
);
const removeEvents = prepare<[number]>("DELETE FROM events WHERE session_key = $1");
const raiseFloor = prepare<[number, number]>("UPDATE sessions SET event_floor = $2 WHERE key = $1");

/** Removes the end of a conversation. */
function writesOfRemoval(
  key: number,
  { position, turns: gone, unanswered, since }: Removal,
): readonly Write[] {
  const all = [...gone, ...unanswered];
  return [
    async (connection) => void (await removeMessages.run(connection, key, position)),
    ...removeOfTurns.map(
      (table): Write =>
        async (connection) =>
          void (await table.run(connection, key, all)),
    ),
    async (connection) => void (await removeTurns.run(connection, key, gone)),
    async (connection) => void (await removeSystemEvents.run(connection, key, since)),
  ];
}

/** Removes all stored events; the log then begins after `floor`. */
function writesOfFloor(key: number, floor: number): readonly Write[] {
  return [
    async (connection) => void (await removeEvents.run(connection, key)),
    async (connection) => void (await raiseFloor.run(connection, key, floor)),
  ];
}

/** Writes sessions as they are after a transaction, with the time of their last use. */
function writesOfSessions(
  used: readonly { readonly state: SessionState; readonly at: number }[],
): readonly Write[] {
  const born = used.filter(({ state }) => state.before === null);
  const changed = used.filter(({ state }) => state.before !== null && state.before !== state.session);
  const unchanged = used.filter(({ state }) => state.before === state.session);
  return [
    sessions.insert(
      inOrder(born).map(({ state: { session }, at }) => [
        ...changingCells(session, at),
        ...lastingCells(session),
      ]),
    ),
    sessions.update(
      changed.map(({ state: { session }, at }) => [...changingCells(session, at), session.key]),
    ),
    noteUses(unchanged.map(({ state: { session }, at }) => [at, session.key])),
  ];
}

/** Sorted by id, so that two nodes that create the same sessions cannot deadlock. */
function inOrder<Used extends { readonly state: SessionState }>(used: readonly Used[]): readonly Used[] {
  return used.toSorted((left, right) => (left.state.session.id < right.state.session.id ? -1 : 1));
}

/** Removes all rows of the sessions with these keys, which must be locked: one indexed delete per table. */
export async function removeSessions(connection: Connection, keys: readonly number[]): Promise<void> {
  if (keys.length > 0) await together(removals.map((removal) => removal.run(connection, keys)));
}

function writesOfDuties(changes: Changes): readonly Write[] {
  const leases = [...changes.leases].toSorted(([left], [right]) => left - right);
  const titles = [...changes.titles];
  return [
    giveUpLeases(leases.flatMap(([key, row]) => (row === null ? [[key]] : []))),
    takeLeases(leases.flatMap(([, row]) => (row === null ? [] : [row]))),
    deleteTitleJobs(titles.flatMap(([key, dueAt]) => (dueAt === null ? [[key]] : []))),
    addTitleJobs(titles.flatMap(([key, dueAt]) => (dueAt === null ? [] : [[key, dueAt]]))),
    rememberKeys([...changes.usedKeys.values()]),
  ];
}

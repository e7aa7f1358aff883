// Collects the drafts of a transaction by row, so that a row that two commands change is written once, and
// writes them: one statement per table and kind of change, all pipelined.

import type { ActionRecord } from "@colloquy/engine/internal/core/action";
import type { Removal, SessionDraft } from "@colloquy/engine/internal/core/commands/draft";
import { TITLE_LEASE_MS } from "@colloquy/engine/internal/core/commands/finish-title";
import { type FileRecord, UNUSED_FILE_MS } from "@colloquy/engine/internal/core/file";
import type { MessageRecord } from "@colloquy/engine/internal/core/message";
import { DELETED_MS } from "@colloquy/engine/internal/core/session";
import { LEASE_MS, type StepRecord, type TurnRecord } from "@colloquy/engine/internal/core/turn";
import { EVENT_LOG_MAX_BYTES } from "@colloquy/engine/internal/core/ports/driven/store";
import { SYSTEM_EVENTS_SHOWN } from "@colloquy/engine/internal/core/session-event";
import {
  ACTIONS,
  FILES,
  MESSAGES,
  SESSIONS,
  TABLES_OF_SESSIONS,
  TURNS,
} from "@colloquy/engine/internal/store/columns";
import { AUDIT, auditRow } from "@colloquy/engine/internal/store/audit";
import { prepareDelete, prepareInsert, prepareTable, prepareUpdate, type Row, type Write } from "./bulk.ts";
import type { Connection } from "./connections.ts";
import { cutLogs } from "./events.ts";
import type { SessionState } from "./facts.ts";
import { prepare, together } from "./statement.ts";

/** New and changed rows of one table. */
class ChangedRows<Record> {
  readonly #added = new Map<string, { readonly key: number; readonly record: Record }>();
  readonly #changed = new Map<string, { readonly key: number; readonly record: Record }>();

  add(key: number, number: number | string, record: Record): void {
    this.#added.set(`${key}/${number}`, { key, record });
  }

  remove(key: number, number: number): void {
    this.#added.delete(`${key}/${number}`);
    this.#changed.delete(`${key}/${number}`);
  }

  change(key: number, number: number | string, record: Record): void {
    const place = `${key}/${number}`;
    const rows = this.#added.has(place) ? this.#added : this.#changed;
    rows.set(place, { key, record });
  }

  added(toRow: (record: Record, key: number) => Row): Row[] {
    return Array.from(this.#added.values(), ({ key, record }) => toRow(record, key));
  }

  changed(toRow: (record: Record, key: number) => Row): Row[] {
    return Array.from(this.#changed.values(), ({ key, record }) => toRow(record, key));
  }
}

export class Changes {
  readonly sessions = new Map<number, { readonly state: SessionState; readonly at: number }>();
  readonly messages = new ChangedRows<MessageRecord>();
  readonly turns = new ChangedRows<TurnRecord>();
  /** Removed queued turns, and the turns that have read their messages. */
  readonly mergedTurns: { readonly key: number; readonly turn: number; readonly into: number }[] = [];
  readonly actions = new ChangedRows<ActionRecord>();
  readonly files = new ChangedRows<FileRecord>();
  readonly events: Row[] = [];
  readonly systemEvents: Row[] = [];
  readonly steps: { readonly key: number; readonly turn: number; readonly step: StepRecord }[] = [];
  /** Turns whose checkpointed text is removed. */
  readonly obsoleteCheckpoints: Row[] = [];
  /** Rows of leases by session; `null` for a released one. */
  readonly leases = new Map<number, Row | null>();
  /** When title jobs are due, by session; `null` for a job to delete. */
  readonly titles = new Map<number, number | null>();
  /** Times and budgets of new summary jobs, by session. */
  readonly summaries = new Map<number, readonly [at: number, budget: number]>();
  readonly usedKeys = new Map<string, Row>();
  readonly removed = new Set<number>();
  /** Ids of deleted sessions, with the time until which they count as deleted. */
  readonly deleted: Row[] = [];
  /**
   * Positions at which conversations are cut off, by session. The transaction contains no other command of
   * such a session.
   */
  readonly removals = new Map<number, Removal & { readonly at: number }>();
  /** Numbers of the last removed events, by session. The transaction contains no other command of such a session. */
  readonly floors = new Map<number, number>();
  readonly audited: Row[] = [];
  /** Blobs of added files, as they were stored. */
  readonly storedBlobs: string[] = [];

  /** Must be called before `SessionState.apply`. */
  add(state: SessionState, draft: SessionDraft): void {
    const { key } = state.session;
    for (const entry of draft.audited) this.audited.push(auditRow(draft.at, entry));
    if (draft.isRemoved) {
      this.removed.add(key);
      this.deleted.push([state.session.id, draft.at + DELETED_MS]);
      return;
    }
    this.sessions.set(key, { state, at: draft.at });
    for (const message of draft.addedMessages) this.messages.add(key, message.position, message);
    for (const message of draft.changedMessages.values())
      this.messages.change(key, message.position, message);
    for (const turn of draft.addedTurns) this.turns.add(key, turn.number, turn);
    for (const turn of draft.changedTurns.values()) this.turns.change(key, turn.number, turn);
    for (const { turn, into } of draft.mergedTurns) this.#merge(key, turn, into);
    for (const action of draft.addedActions) this.actions.add(key, action.number, action);
    for (const action of draft.changedActions.values()) this.actions.change(key, action.number, action);
    for (const file of draft.addedFiles) {
      this.files.add(key, file.id, file);
      this.storedBlobs.push(file.blob);
    }
    for (const file of draft.changedFiles.values()) this.files.change(key, file.id, file);
    if (draft.removal !== null) this.removals.set(key, { ...draft.removal, at: draft.at });
    if (draft.floor !== null) this.floors.set(key, draft.floor);
    const floor = draft.floor ?? 0;
    for (const [index, { number }] of draft.events.entries()) {
      if (number > floor) this.events.push([key, number, draft.at, draft.eventTexts[index] ?? ""]);
    }
    for (const { number, item } of draft.systemEvents) {
      this.systemEvents.push([key, number, JSON.stringify(item)]);
    }
    for (const turn of draft.obsoleteCheckpoints) this.obsoleteCheckpoints.push([key, turn]);
    for (const { turn, step } of draft.addedSteps) this.steps.push({ key, turn, step });
    for (const used of draft.usedKeys) {
      this.usedKeys.set(`${key}/${used.key}`, [key, used.key, used.digest, used.turn, used.at]);
    }
    if (draft.lease !== null) {
      const { lease } = draft;
      const row =
        lease.kind === "taken" ? [key, lease.owner, lease.epoch, draft.at, draft.at + LEASE_MS] : null;
      this.leases.set(key, row);
    }
    if (draft.wantsTitle) this.titles.set(key, draft.at + TITLE_LEASE_MS);
    else if (state.session.titleSource === "placeholder" && draft.session.titleSource !== "placeholder") {
      this.titles.set(key, null);
    }
    if (draft.summaryBudget !== null) this.summaries.set(key, [draft.at, draft.summaryBudget]);
  }

  #merge(key: number, turn: number, into: number): void {
    this.turns.remove(key, turn);
    this.mergedTurns.push({ key, turn, into });
    for (const [place, [session, name, digest, of, at]] of this.usedKeys)
      if (session === key && of === turn)
        this.usedKeys.set(place, [key, name ?? null, digest ?? null, into, at ?? null]);
  }
}

const OF_SESSION = { session_key: "bigint" } as const;
const PLACE = { ...OF_SESSION, number: "bigint" } as const;

const removeMerged = prepareDelete("turns", PLACE);

const sessions = prepareTable("sessions", SESSIONS);
const messages = prepareTable("messages", MESSAGES);
const turns = prepareTable("turns", TURNS);
const actions = prepareTable("actions", ACTIONS);

const updateFiles = prepareTable("files", FILES).update;

const insertAudit = prepareInsert("audit", AUDIT, "(once) DO NOTHING");
const noteDeleted = prepareInsert(
  "deleted_sessions",
  { id: "text", until: "bigint" },
  "(id) DO UPDATE SET until = excluded.until",
);
const noteUses = prepareUpdate("sessions", { used_at: "bigint" }, { key: "bigint" });
const moveKeys = prepare<[readonly number[], readonly number[], readonly number[]]>(
  `UPDATE idempotency_keys AS old SET turn = given.into_turn
   FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS given (session_key, turn, into_turn)
   WHERE old.session_key = given.session_key AND old.turn = given.turn`,
);
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

const removeCheckpoints = prepareDelete("checkpoints", { ...OF_SESSION, turn: "bigint" });

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

const addSummaryJobs = prepareInsert(
  "summary_jobs",
  { session_key: "bigint", due_at: "bigint", attempts: "integer", budget: "bigint" },
  "(session_key) DO NOTHING",
);

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
  const appended = new Set(changes.events.map(([key]) => key));
  const overfull = [...changes.sessions].flatMap(([key, { state }]) =>
    appended.has(key) && (state.session.eventBytes ?? 0) > EVENT_LOG_MAX_BYTES ? [key] : [],
  );
  const leases = [...changes.leases].toSorted(([left], [right]) => left - right);
  return [
    // Before any removal of checkpoints: this waits for a checkpoint in progress, which locks the lease (turns.ts).
    giveUpLeases(leases.flatMap(([key, row]) => (row === null ? [[key]] : []))),
    takeLeases(leases.flatMap(([, row]) => (row === null ? [] : [row]))),
    removeCheckpoints(changes.obsoleteCheckpoints),
    ...[...changes.removals].flatMap(([key, removal]) => writesOfRemoval(key, removal)),
    ...writesOfSessions([...changes.sessions.values()]),
    ...[...changes.floors].flatMap(([key, floor]) => writesOfFloor(key, floor)),
    messages.insert(changes.messages.added(MESSAGES.insertCells)),
    messages.update(changes.messages.changed(MESSAGES.updateCells)),
    turns.insert(changes.turns.added(TURNS.insertCells)),
    turns.update(changes.turns.changed(TURNS.updateCells)),
    ...writesOfMerged(changes.mergedTurns),
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
    insertEvents(changes.events),
    cutLogs(overfull),
    insertSystemEvents(changes.systemEvents),
    keepLastSystemEvents([...new Set(changes.systemEvents.map(([key]) => key ?? null))].map((key) => [key])),
    actions.insert(changes.actions.added(ACTIONS.insertCells)),
    actions.update(changes.actions.changed(ACTIONS.updateCells)),
    ...changes.files.added(FILES.insertCells).map(
      (cells): Write =>
        (connection) =>
          insertFile(connection, cells),
    ),
    updateFiles(changes.files.changed(FILES.updateCells)),
    ...(changes.storedBlobs.length === 0
      ? []
      : [async (connection: Connection) => void (await releaseRoom.run(connection, changes.storedBlobs))]),
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
const removeOfTurns = ["checkpoints", "actions"].map((table) =>
  prepare<[number, readonly number[]]>(
    `DELETE FROM ${table} WHERE session_key = $1 AND turn = ANY($2::bigint[])`,
  ),
);
const removeSteps = prepare<[number, readonly number[], readonly number[]]>(
  `DELETE FROM steps AS old USING unnest($2::bigint[], $3::bigint[]) AS given (turn, number)
   WHERE old.session_key = $1 AND old.turn = given.turn AND old.number >= given.number`,
);
const removeTurns = prepare<[number, readonly number[]]>(
  "DELETE FROM turns WHERE session_key = $1 AND number = ANY($2::bigint[])",
);
const removeSystemEvents = prepare<[number, string]>(
  "DELETE FROM system_events WHERE session_key = $1 AND item::json ->> 'created_at' >= $2",
);
const removeEvents = prepare<[number]>("DELETE FROM events WHERE session_key = $1");
const raiseFloor = prepare<[number, number]>("UPDATE sessions SET event_floor = $2 WHERE key = $1");

const FILE_COLUMNS = Object.keys(FILES.columns);
const numberOf = (column: string): string => `$${FILE_COLUMNS.indexOf(column) + 1}::${FILES.columns[column]}`;
/**
 * A file with the bytes of another one of its App shares them: its own stay in `unused_blobs`. The lock keeps the other
 * from being removed before the commit. SKIP LOCKED: never wait for a removal.
 */
const addFile = prepare<Row>(
  `INSERT INTO files (${FILE_COLUMNS.join(", ")}) VALUES (${FILE_COLUMNS.map((column) =>
    column !== "blob"
      ? numberOf(column)
      : `coalesce((SELECT o.blob FROM files AS o WHERE o.app = ${numberOf("app")} AND o.sha256 = ${numberOf("sha256")}
           LIMIT 1 FOR SHARE SKIP LOCKED), ${numberOf("blob")})`,
  ).join(", ")})`,
);

/** Ends the reservations of blobs that files have now. */
const releaseRoom = prepare<[readonly string[]]>(
  "UPDATE unused_blobs SET bytes = 0, holder = NULL WHERE id = ANY($1::text[])",
);

async function insertFile(connection: Connection, cells: Row): Promise<void> {
  await addFile.run(connection, ...cells);
}

const releaseFiles = prepare<[number, number, number]>(
  "UPDATE files SET position = NULL, due_at = $3 WHERE session_key = $1 AND position >= $2",
);

/** Removes the end of a conversation. */
function writesOfRemoval(
  key: number,
  { position, turns: gone, cut, since, at }: Removal & { readonly at: number },
): readonly Write[] {
  const all = [...gone, ...cut.map(({ turn }) => turn)];
  const steps = [...gone.map(() => 1), ...cut.map(({ step }) => step)];
  return [
    async (connection) => void (await removeMessages.run(connection, key, position)),
    async (connection) => void (await removeSteps.run(connection, key, all, steps)),
    ...removeOfTurns.map(
      (table): Write =>
        async (connection) =>
          void (await table.run(connection, key, all)),
    ),
    async (connection) => void (await removeTurns.run(connection, key, gone)),
    async (connection) => void (await removeSystemEvents.run(connection, key, since)),
    async (connection) => void (await releaseFiles.run(connection, key, position, at + UNUSED_FILE_MS)),
  ];
}

/** Removes queued turns whose messages other turns have read. */
function writesOfMerged(merged: Changes["mergedTurns"]): readonly Write[] {
  if (merged.length === 0) return [];
  const keys = merged.map(({ key }) => key);
  const from = merged.map(({ turn }) => turn);
  const into = merged.map(({ into: turn }) => turn);
  return [
    removeMerged(merged.map(({ key, turn }) => [key, turn])),
    async (connection) => void (await moveKeys.run(connection, keys, from, into)),
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
    sessions.insert(inOrder(born).map(({ state: { session }, at }) => SESSIONS.insertCells(session, at))),
    sessions.update(changed.map(({ state: { session }, at }) => SESSIONS.updateCells(session, at))),
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
  const titles = [...changes.titles];
  return [
    deleteTitleJobs(titles.flatMap(([key, dueAt]) => (dueAt === null ? [[key]] : []))),
    addTitleJobs(titles.flatMap(([key, dueAt]) => (dueAt === null ? [] : [[key, dueAt]]))),
    addSummaryJobs(Array.from(changes.summaries, ([key, [at, budget]]) => [key, at, 0, budget])),
    rememberKeys([...changes.usedKeys.values()]),
  ];
}

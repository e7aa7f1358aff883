// Writes drafts in the current transaction.

import type { SQLInputValue } from "node:sqlite";
import type { Removal, SessionDraft } from "../../core/commands/draft.ts";
import { TITLE_LEASE_MS } from "../../core/commands/finish-title.ts";
import { DELETED_MS, type SessionRecord } from "../../core/session.ts";
import { EVENT_LOG_MAX_BYTES } from "../../core/ports/driven/store.ts";
import { UNUSED_FILE_MS } from "../../core/file.ts";
import { SYSTEM_EVENTS_SHOWN } from "../../core/session-event.ts";
import { LEASE_MS } from "../../core/turn.ts";
import type { Columns } from "../../core/field.ts";
import { ACTIONS, FILES, MESSAGES, SESSIONS, TABLES_OF_SESSIONS, TURNS } from "../columns.ts";
import type { ChangingTable } from "../record-table.ts";
import { writeAudit } from "../audit.ts";
import { prepareEventLog } from "./events.ts";
import { type Prepare, prepareWork } from "./database.ts";

/** `before` is the session as it was read; `null` for a new one. */
export type WriteDraft = (before: SessionRecord | null, draft: SessionDraft) => void;

export function prepareDraftWriter(prepare: Prepare): WriteDraft {
  const remove = prepareRemoval(prepare);
  const removeTail = prepareTailRemoval(prepare);
  const raiseFloor = prepareFloor(prepare);
  const writeSession = prepareSessionWriter(prepare);
  const writeMessages = prepareMessageWriter(prepare);
  const writeTurns = prepareTurnWriter(prepare);
  const writeEvents = prepareEventWriter(prepare);
  const writeActions = prepareActionWriter(prepare);
  const writeFiles = prepareFileWriter(prepare);
  const writeLease = prepareLeaseWriter(prepare);
  const writeProgress = prepareProgressWriter(prepare);
  const addTitleJob = prepare<[number, number]>(
    "INSERT OR REPLACE INTO title_jobs (session_key, due_at) VALUES (?, ?)",
  );
  const deleteTitleJob = prepare<[number]>("DELETE FROM title_jobs WHERE session_key = ?");
  const addSummaryJob = prepare<[number, number, number]>(
    "INSERT INTO summary_jobs (session_key, due_at, attempts, budget) VALUES (?, ?, 0, ?) ON CONFLICT DO NOTHING",
  );
  const noteDeleted = prepare<[string, number]>(
    "INSERT OR REPLACE INTO deleted_sessions (id, until) VALUES (?, ?)",
  );
  const run = prepareWork(prepare);
  return (before, draft) => {
    const { id, key, titleSource } = draft.session;
    for (const entry of draft.audited) run(writeAudit(draft.at, entry));
    if (draft.isRemoved) {
      if (before !== null) remove(key);
      noteDeleted.run(id, draft.at + DELETED_MS);
      return;
    }
    if (draft.removal !== null) removeTail(key, draft.removal, draft.at);
    writeSession(before, draft.session, draft.at);
    if (draft.floor !== null) raiseFloor(key, draft.floor);
    writeMessages(key, draft);
    writeTurns(key, draft);
    writeProgress(key, draft);
    writeEvents(key, draft);
    writeActions(key, draft);
    writeFiles(key, draft);
    if (draft.lease !== null) writeLease(key, draft.lease, draft.at);
    if (draft.wantsTitle) addTitleJob.run(key, draft.at + TITLE_LEASE_MS);
    else if (before?.titleSource === "placeholder" && titleSource !== "placeholder") deleteTitleJob.run(key);
    if (draft.summaryBudget !== null) addSummaryJob.run(key, draft.at, draft.summaryBudget);
  };
}

/** Statements that insert and update the rows of a table. */
function prepareTable(prepare: Prepare, name: string, table: ChangingTable) {
  const columns = Object.keys(table.columns);
  const equal = (some: Columns) => Object.keys(some).map((column) => `${column} = ?`);
  return {
    insert: prepare<SQLInputValue[]>(
      `INSERT INTO ${name} (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`,
    ),
    update: prepare<SQLInputValue[]>(
      `UPDATE ${name} SET ${equal(table.changing).join(", ")} WHERE ${equal(table.key).join(" AND ")}`,
    ),
  };
}

/**
 * Writes the row of a session after a transaction at `at`, which is also its last use. `before` is `null` for
 * a new session.
 */
function prepareSessionWriter(
  prepare: Prepare,
): (before: SessionRecord | null, session: SessionRecord, at: number) => void {
  const { insert, update } = prepareTable(prepare, "sessions", SESSIONS);
  const noteUse = prepare<[number, number]>("UPDATE sessions SET used_at = ? WHERE key = ?");
  return (before, session, at) => {
    if (before === null) {
      insert.run(...SESSIONS.insertCells(session, at));
    } else if (before === session) {
      noteUse.run(at, session.key);
    } else {
      update.run(...SESSIONS.updateCells(session, at));
    }
  };
}

/** Removes all rows of the session with a key: one indexed delete per table. */
export function prepareRemoval(prepare: Prepare): (key: number) => void {
  const children = TABLES_OF_SESSIONS.map((table) =>
    prepare<[number]>(`DELETE FROM ${table} WHERE session_key = ?`),
  );
  const session = prepare<[number]>("DELETE FROM sessions WHERE key = ?");
  return (key) => {
    for (const child of children) child.run(key);
    session.run(key);
  };
}

/** Removes the end of a conversation. */
function prepareTailRemoval(prepare: Prepare): (key: number, removal: Removal, at: number) => void {
  const ofPositions = prepare<[number, number]>(
    "DELETE FROM messages WHERE session_key = ? AND position >= ?",
  );
  const ofTurns = ["checkpoints", "actions"].map((table) =>
    prepare<[number, string]>(
      `DELETE FROM ${table} WHERE session_key = ? AND turn IN (SELECT value FROM json_each(?))`,
    ),
  );
  const stepsFrom = prepare<[number, number, number]>(
    "DELETE FROM steps WHERE session_key = ? AND turn = ? AND number >= ?",
  );
  const turns = prepare<[number, string]>(
    "DELETE FROM turns WHERE session_key = ? AND number IN (SELECT value FROM json_each(?))",
  );
  const systemEvents = prepare<[number, string]>(
    "DELETE FROM system_events WHERE session_key = ? AND item ->> '$.created_at' >= ?",
  );
  const releaseFiles = prepare<[number, number, number]>(
    "UPDATE files SET position = NULL, due_at = ? WHERE session_key = ? AND position >= ?",
  );
  return (key, removal, at) => {
    const cut = [...removal.turns.map((turn) => ({ turn, step: 1 })), ...removal.cut];
    ofPositions.run(key, removal.position);
    for (const { turn, step } of cut) stepsFrom.run(key, turn, step);
    const all = JSON.stringify(cut.map(({ turn }) => turn));
    for (const table of ofTurns) table.run(key, all);
    turns.run(key, JSON.stringify(removal.turns));
    systemEvents.run(key, removal.since);
    releaseFiles.run(at + UNUSED_FILE_MS, key, removal.position);
  };
}

/** Removes all stored events; the log then begins after `floor`. */
function prepareFloor(prepare: Prepare): (key: number, floor: number) => void {
  const removeEvents = prepare<[number]>("DELETE FROM events WHERE session_key = ?");
  const raise = prepare<[number, number]>("UPDATE sessions SET event_floor = ? WHERE key = ?");
  return (key, floor) => {
    removeEvents.run(key);
    raise.run(floor, key);
  };
}

function prepareMessageWriter(prepare: Prepare): (key: number, draft: SessionDraft) => void {
  const { insert, update } = prepareTable(prepare, "messages", MESSAGES);
  return (key, draft) => {
    for (const message of draft.addedMessages) insert.run(...MESSAGES.insertCells(message, key));
    for (const message of draft.changedMessages.values()) {
      update.run(...MESSAGES.updateCells(message, key));
    }
  };
}

function prepareTurnWriter(prepare: Prepare): (key: number, draft: SessionDraft) => void {
  const { insert, update } = prepareTable(prepare, "turns", TURNS);
  const deleteCheckpoints = prepare<[number, number]>(
    "DELETE FROM checkpoints WHERE session_key = ? AND turn = ?",
  );
  const remove = prepare<[number, number]>("DELETE FROM turns WHERE session_key = ? AND number = ?");
  const moveKeys = prepare<[number, number, number]>(
    "UPDATE idempotency_keys SET turn = ? WHERE session_key = ? AND turn = ?",
  );
  return (key, draft) => {
    for (const turn of draft.addedTurns) insert.run(...TURNS.insertCells(turn, key));
    for (const turn of draft.changedTurns.values()) update.run(...TURNS.updateCells(turn, key));
    for (const { turn, into } of draft.mergedTurns) {
      remove.run(key, turn);
      moveKeys.run(into, key, turn);
    }
    for (const number of draft.obsoleteCheckpoints) deleteCheckpoints.run(key, number);
  };
}

/** Writes steps and idempotency keys. */
function prepareProgressWriter(prepare: Prepare): (key: number, draft: SessionDraft) => void {
  const insertStep = prepare<[number, number, number, string, string, string, string]>(
    "INSERT INTO steps (session_key, turn, number, finish_reason, usage, text, parts) VALUES (?, ?, ?, ?, ?, ?, ?)",
  );
  const rememberKey = prepare<[number, string, string, number, number]>(
    "INSERT OR REPLACE INTO idempotency_keys (session_key, key, digest, turn, at) VALUES (?, ?, ?, ?, ?)",
  );
  return (sessionKey, draft) => {
    for (const { turn, step } of draft.addedSteps) {
      const { number, finishReason, usage, text, parts } = step;
      insertStep.run(
        sessionKey,
        turn,
        number,
        finishReason,
        JSON.stringify(usage),
        text,
        JSON.stringify(parts),
      );
    }
    for (const { key, digest, turn, at } of draft.usedKeys)
      rememberKey.run(sessionKey, key, digest, turn, at);
  };
}

function prepareEventWriter(prepare: Prepare): (key: number, draft: SessionDraft) => void {
  const insert = prepare<[number, number, number, string]>(
    "INSERT INTO events (session_key, number, at, payload) VALUES (?, ?, ?, ?)",
  );
  const insertSystemEvent = prepare<[number, number, string]>(
    "INSERT INTO system_events (session_key, number, item) VALUES (?, ?, ?)",
  );
  const keepLast = prepare<[number, number]>(`DELETE FROM system_events WHERE session_key = ?1 AND number <=
       (SELECT number FROM system_events WHERE session_key = ?1 ORDER BY number DESC LIMIT 1 OFFSET ?2)`);
  const eventLog = prepareEventLog(prepare);
  return (key, draft) => {
    const floor = draft.floor ?? 0;
    for (const [index, { number }] of draft.events.entries()) {
      if (number > floor) insert.run(key, number, draft.at, draft.eventTexts[index] ?? "");
    }
    const { eventBytes } = draft.session;
    if (draft.events.length > 0 && (eventBytes ?? 0) > EVENT_LOG_MAX_BYTES) eventLog.cut(key);
    if (draft.systemEvents.length === 0) return;
    for (const { number, item } of draft.systemEvents) {
      insertSystemEvent.run(key, number, JSON.stringify(item));
    }
    keepLast.run(key, SYSTEM_EVENTS_SHOWN);
  };
}

function prepareActionWriter(prepare: Prepare): (key: number, draft: SessionDraft) => void {
  const { insert, update } = prepareTable(prepare, "actions", ACTIONS);
  return (key, draft) => {
    for (const action of draft.addedActions) insert.run(...ACTIONS.insertCells(action, key));
    for (const action of draft.changedActions.values()) {
      update.run(...ACTIONS.updateCells(action, key));
    }
  };
}

/**
 * A file with the bytes of another one of its App shares them: its own stay in `unused_blobs`. Either way, the room
 * reserved for them is released.
 */
function prepareFileWriter(prepare: Prepare): (key: number, draft: SessionDraft) => void {
  const { insert, update } = prepareTable(prepare, "files", FILES);
  const sameBytes = prepare<[string, string], { readonly blob: string }>(
    "SELECT blob FROM files WHERE app = ? AND sha256 = ? LIMIT 1",
  );
  const release = prepare<[string]>("UPDATE unused_blobs SET bytes = 0, holder = NULL WHERE id = ?");
  return (key, draft) => {
    for (const file of draft.addedFiles) {
      const blob = sameBytes.get(file.app, file.sha256)?.blob ?? file.blob;
      insert.run(...FILES.insertCells({ ...file, blob }, key));
      release.run(file.blob);
    }
    for (const file of draft.changedFiles.values()) update.run(...FILES.updateCells(file, key));
  };
}

function prepareLeaseWriter(
  prepare: Prepare,
): (key: number, change: NonNullable<SessionDraft["lease"]>, at: number) => void {
  const take = prepare<[number, string, number, number, number]>(
    "INSERT OR REPLACE INTO leases (session_key, owner, epoch, taken_at, expires_at) VALUES (?, ?, ?, ?, ?)",
  );
  const release = prepare<[number]>("DELETE FROM leases WHERE session_key = ?");
  return (key, change, at) => {
    if (change.kind === "released") release.run(key);
    else take.run(key, change.owner, change.epoch, at, at + LEASE_MS);
  };
}

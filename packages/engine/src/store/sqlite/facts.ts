// Reads facts of sessions in the current transaction, on first use by a command.

import type { ActionRecord } from "../../core/action.ts";
import {
  type Needs,
  type Origin,
  partialTextOf,
  type StoredFacts,
  type Tail,
  type TurnCount,
} from "../../core/commands/command.ts";
import type { UsedKey } from "../../core/commands/draft.ts";
import type { StoredSession } from "../../core/ports/driven/session-store.ts";
import type { SessionRecord } from "../../core/session.ts";
import type { SystemEventRecord } from "../../core/session-event.ts";
import { type OpenTurn, openTurnOf, type TurnRecord } from "../../core/turn.ts";
import {
  type ActionRow,
  type FileRow,
  type LeaseRow,
  type MessageRow,
  type SessionRow,
  type StepRow,
  toAction,
  toFile,
  toLease,
  toMessage,
  toSession,
  toStep,
  toTurn,
  type TurnRow,
} from "../rows.ts";
import type { Prepare } from "./database.ts";

export interface FactReader {
  sessionRow(id: string): SessionRow | undefined;
  sessionById(id: string): SessionRecord | null;
  sessionByKey(key: number): SessionRecord | null;
  /** Returns the facts that a command may read of its session. */
  of(session: SessionRecord, needs: Needs): StoredFacts;
  /** Returns the open turns with their messages, oldest first. */
  openTurns(session: SessionRecord): readonly OpenTurn[];
  /** Returns the content of a snapshot. */
  load(session: SessionRecord): StoredSession;
  /** Returns the checkpointed text of the current step of the running turn; empty if no turn runs. */
  streamed(session: SessionRecord): string;
}

export function prepareFacts(prepare: Prepare): FactReader {
  const byId = prepare<[string], SessionRow>("SELECT * FROM sessions WHERE id = ?");
  const byKey = prepare<[number], SessionRow>("SELECT * FROM sessions WHERE key = ?");
  const messages = prepare<[number], MessageRow>(
    "SELECT * FROM messages WHERE session_key = ? ORDER BY position",
  );
  const systemEvents = prepare<[number], { readonly number: number; readonly item: string }>(
    "SELECT number, item FROM system_events WHERE session_key = ? ORDER BY number",
  );
  const pending = prepare<[number], ActionRow>(
    "SELECT * FROM actions INDEXED BY actions_pending WHERE session_key = ? AND status = 'pending' ORDER BY number",
  );
  // Only open turns have pending actions, and only a session that is processing has open turns.
  const pendingActions = ({ key, status }: SessionRecord) =>
    status === "processing" ? pending.all(key).map(toAction) : [];
  const streamed = prepareStreamedText(prepare);
  const streamedOf = ({ key, status }: SessionRecord): string =>
    status === "processing" ? streamed(key, null) : "";
  const { countOpenTurns, openTurns } = prepareOpenTurns(prepare, pendingActions);
  const sessionFrom = (row: SessionRow | undefined) => (row === undefined ? null : toSession(row));
  return {
    sessionRow: (id) => byId.get(id),
    sessionById: (id) => sessionFrom(byId.get(id)),
    sessionByKey: (key) => sessionFrom(byKey.get(key)),
    openTurns,
    of: prepareStoredFacts(prepare, { countOpenTurns, openTurns, streamed }),
    load: (session) => ({
      session,
      messages: messages.all(session.key).map(toMessage),
      systemEvents: systemEvents
        .all(session.key)
        .map(({ number, item }) => ({ number, item: JSON.parse(item) as SystemEventRecord["item"] })),
      pendingActions: pendingActions(session),
      checkpointed: streamedOf(session),
    }),
    streamed: streamedOf,
  };
}

interface TurnReads {
  countOpenTurns(session: SessionRecord): TurnCount;
  openTurns(session: SessionRecord): readonly OpenTurn[];
}

function prepareStoredFacts(
  prepare: Prepare,
  {
    countOpenTurns,
    openTurns,
    streamed,
  }: TurnReads & { readonly streamed: ReturnType<typeof prepareStreamedText> },
): FactReader["of"] {
  const lease = prepare<[number], LeaseRow>("SELECT taken_at, expires_at FROM leases WHERE session_key = ?");
  const usedKey = prepare<[number, string], UsedKey>(
    "SELECT digest, turn, at FROM idempotency_keys WHERE session_key = ? AND key = ?",
  );
  const actionById = prepare<[number, string], ActionRow>(
    "SELECT * FROM actions WHERE session_key = ? AND id = ?",
  );
  const messageById = prepare<[number, string], MessageRow>(
    "SELECT * FROM messages WHERE session_key = ? AND id = ?",
  );
  const tail = prepareTail(prepare);
  const firstTurn = prepare<[number], { readonly turn: number }>(
    "SELECT turn FROM messages WHERE session_key = ? AND position = 1",
  );
  const fileById = prepare<[number, string], FileRow>("SELECT * FROM files WHERE session_key = ? AND id = ?");
  const originOf = prepareOrigin(prepare);
  return (
    session,
    { idempotencyKey = null, action = null, message = null, tail: from = null, origin = null, files = [] },
  ) => ({
    turnCount: () => countOpenTurns(session),
    openTurns: () => openTurns(session),
    checkpointed: () => partialTextOf(openTurns(session), (turn) => streamed(session.key, turn)),
    idempotencyKey: () =>
      idempotencyKey === null ? null : (usedKey.get(session.key, idempotencyKey) ?? null),
    action: () => {
      const row = action === null ? undefined : actionById.get(session.key, action);
      return row === undefined ? null : toAction(row);
    },
    message: () => {
      const row = message === null ? undefined : messageById.get(session.key, message);
      return row === undefined ? null : toMessage(row);
    },
    tail: () => (from === null ? { messages: [], turns: [] } : tail(session.key, from)),
    firstTurn: () => firstTurn.get(session.key)?.turn ?? null,
    files: () => files.flatMap((id) => fileById.all(session.key, id)).map(toFile),
    origin: () => (origin === null ? null : originOf(origin)),
    lease: () => {
      const row = lease.get(session.key);
      return row === undefined ? null : toLease(row);
    },
  });
}

function prepareTail(prepare: Prepare): (key: number, id: string) => Tail {
  const position = prepare<[number, string], { readonly position: number }>(
    "SELECT position FROM messages WHERE session_key = ? AND id = ?",
  );
  const turns = prepare<[number, number], TurnRow>(
    "SELECT * FROM turns WHERE session_key = ?1 AND (user_position >= ?2 OR agent_position >= ?2) ORDER BY number",
  );
  const messages = prepare<[number, number], MessageRow>(
    `SELECT * FROM messages WHERE session_key = ?1
       AND position >= min(?2, ifnull((SELECT min(user_position) FROM turns WHERE session_key = ?1 AND agent_position >= ?2), ?2))
       AND (position >= ?2 OR turn IN (SELECT number FROM turns WHERE session_key = ?1 AND agent_position >= ?2))
     ORDER BY position`,
  );
  return (key, id) => {
    const from = position.get(key, id)?.position;
    if (from === undefined) return { messages: [], turns: [] };
    return { messages: messages.all(key, from).map(toMessage), turns: turns.all(key, from).map(toTurn) };
  };
}

function prepareOrigin(prepare: Prepare): (id: string) => Origin | null {
  const byId = prepare<[string], SessionRow>("SELECT * FROM sessions WHERE id = ?");
  const messages = prepare<[number], MessageRow>(
    "SELECT * FROM messages WHERE session_key = ? ORDER BY position",
  );
  const turns = prepare<[number], TurnRow>("SELECT * FROM turns WHERE session_key = ? ORDER BY number");
  const steps = prepare<[number], StepRow & { readonly turn: number }>(
    "SELECT * FROM steps WHERE session_key = ? ORDER BY turn, number",
  );
  const files = prepare<[number], FileRow>(
    "SELECT * FROM files WHERE session_key = ? AND position IS NOT NULL ORDER BY id",
  );
  return (id) => {
    const row = byId.get(id);
    if (row === undefined) return null;
    return {
      session: toSession(row),
      messages: messages.all(row.key).map(toMessage),
      turns: turns.all(row.key).map(toTurn),
      steps: steps.all(row.key).map((step) => ({ turn: step.turn, step: toStep(step) })),
      files: files.all(row.key).map(toFile),
    };
  };
}

/**
 * Prepares the read of open turns. Only a session that is processing has open turns (contract section 3), so nothing
 * is read for others.
 */
function prepareOpenTurns(
  prepare: Prepare,
  pendingActions: (session: SessionRecord) => readonly ActionRecord[],
): TurnReads {
  const open = prepare<[number], TurnRow>(
    "SELECT * FROM turns INDEXED BY turns_open WHERE session_key = ? AND ended_at IS NULL ORDER BY number",
  );
  const count = prepare<
    [number],
    { readonly count: number; readonly waiting: number | null }
  >(`SELECT count(*) AS count, sum(state = 'waiting') AS waiting FROM turns INDEXED BY turns_open
     WHERE session_key = ? AND ended_at IS NULL`);
  const message = prepare<[number, number], MessageRow>(
    "SELECT * FROM messages WHERE session_key = ? AND position = ?",
  );
  const messageAt = (key: number, position: number) => {
    const row = message.get(key, position);
    if (row === undefined) throw new Error(`Message ${position} of session ${key} is missing`);
    return toMessage(row);
  };
  const withMessages = (session: SessionRecord, turn: TurnRecord): OpenTurn => {
    const { key } = session;
    return openTurnOf(
      turn,
      (position) => messageAt(key, position),
      () => pendingActions(session),
    );
  };
  return {
    countOpenTurns: ({ key, status }) => {
      const counted = status === "processing" ? count.get(key) : undefined;
      return { openTurns: counted?.count ?? 0, waits: (counted?.waiting ?? 0) > 0 };
    },
    openTurns: (session) =>
      session.status === "processing"
        ? open.all(session.key).map((row) => withMessages(session, toTurn(row)))
        : [],
  };
}

/**
 * Prepares the read of the checkpointed text of the current step, for one turn or for any turn (`null`).
 */
function prepareStreamedText(prepare: Prepare): (key: number, turn: number | null) => string {
  const pieces = prepare<[number, number | null], { readonly offset: number; readonly text: string }>(
    `SELECT "offset", text FROM checkpoints WHERE session_key = ?1 AND turn = coalesce(?2, turn) ORDER BY turn, "offset"`,
  );
  return (key, turn) =>
    pieces.all(key, turn).reduce((text, piece) => text.slice(0, piece.offset) + piece.text, "");
}

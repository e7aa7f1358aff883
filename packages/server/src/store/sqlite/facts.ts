// What the database knows, read in the transaction that is under way.

import type { DatabaseSync } from "node:sqlite";
import type { ActionRecord } from "../../core/action.ts";
import type { ChatFacts } from "../../core/commands/chat.ts";
import type { PartialText } from "../../core/commands/interrupt.ts";
import { joinStepText, waitsForPerson } from "../../core/message.ts";
import type { StoredSession } from "../../core/ports/driven/session-store.ts";
import type { SessionRecord } from "../../core/session.ts";
import type { SystemEventRecord } from "../../core/system-event.ts";
import type { Lease, OpenTurn, TurnRecord } from "../../core/turn.ts";
import {
  toAction,
  toLease,
  toMessage,
  toSession,
  toTurn,
  type ActionRow,
  type LeaseRow,
  type MessageRow,
  type SessionRow,
  type TurnRow,
} from "../rows.ts";
import { prepare } from "./statement.ts";

export interface Facts {
  sessionRow(id: string): SessionRow | undefined;
  sessionById(id: string): SessionRecord | null;
  sessionByKey(key: number): SessionRecord | null;
  countOpenTurns(session: SessionRecord): Pick<ChatFacts, "openTurns" | "waits">;
  /** The session's turns that have not ended, with their messages, oldest first. */
  openTurns(session: SessionRecord): readonly OpenTurn[];
  /** The lease under which a turn of the session runs, `null` for none. */
  lease(session: SessionRecord): Lease | null;
  /** The whole text of the running turn's agent message as it was checkpointed last. */
  checkpointed(openTurns: readonly OpenTurn[], session: SessionRecord): PartialText | null;
  load(session: SessionRecord): StoredSession;
  /** Text that was checkpointed beyond the last finished step of the turn that runs. */
  streamed(session: SessionRecord): string;
}

export function prepareFacts(database: DatabaseSync): Facts {
  const byId = prepare<[string], SessionRow>(database, "SELECT * FROM sessions WHERE id = ?");
  const byKey = prepare<[number], SessionRow>(database, "SELECT * FROM sessions WHERE key = ?");
  const messages = prepare<[number], MessageRow>(
    database,
    "SELECT * FROM messages WHERE session_key = ? ORDER BY position",
  );
  const systemEvents = prepare<[number], { readonly number: number; readonly item: string }>(
    database,
    "SELECT number, item FROM system_events WHERE session_key = ? ORDER BY number",
  );
  const pending = prepare<[number], ActionRow>(
    database,
    "SELECT * FROM actions INDEXED BY actions_pending WHERE session_key = ? AND status = 'pending' ORDER BY number",
  );
  // Only a session that is processing has open turns, and only those ask.
  const pendingActions = ({ key, status }: SessionRecord) =>
    status === "processing" ? pending.all(key).map(toAction) : [];
  const lease = prepare<[number], LeaseRow>(
    database,
    "SELECT taken_at, expires_at FROM leases WHERE session_key = ?",
  );
  const streamed = prepareStreamedText(database);
  const streamedOf = ({ key, status }: SessionRecord): string =>
    status === "processing" ? streamed(key, null) : "";
  const sessionFrom = (row: SessionRow | undefined) => (row === undefined ? null : toSession(row));
  return {
    sessionRow: (id) => byId.get(id),
    sessionById: (id) => sessionFrom(byId.get(id)),
    sessionByKey: (key) => sessionFrom(byKey.get(key)),
    ...prepareOpenTurns(database, pendingActions),
    lease: ({ key }) => {
      const row = lease.get(key);
      return row === undefined ? null : toLease(row);
    },
    checkpointed: (openTurns, { key }) => {
      const running = openTurns.find(({ agentMessage }) => agentMessage !== null);
      if (running === undefined || running.agentMessage === null) return null;
      const { turn, agentMessage } = running;
      const text = joinStepText(agentMessage.content, streamed(key, turn.number));
      return { turn: turn.number, epoch: turn.epoch, text };
    },
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

/** Only a session that is processing has open turns (contract section 3): the others are answered without a look. */
function prepareOpenTurns(
  database: DatabaseSync,
  pendingActions: (session: SessionRecord) => readonly ActionRecord[],
): Pick<Facts, "countOpenTurns" | "openTurns"> {
  const open = prepare<[number], TurnRow>(
    database,
    "SELECT * FROM turns INDEXED BY turns_open WHERE session_key = ? AND ended_at IS NULL ORDER BY number",
  );
  const count = prepare<[number], { readonly count: number; readonly waiting: number | null }>(
    database,
    `SELECT count(*) AS count, sum(state = 'waiting') AS waiting FROM turns INDEXED BY turns_open
     WHERE session_key = ? AND ended_at IS NULL`,
  );
  const message = prepare<[number, number], MessageRow>(
    database,
    "SELECT * FROM messages WHERE session_key = ? AND position = ?",
  );
  const messageAt = (key: number, position: number) => {
    const row = message.get(key, position);
    if (row === undefined) throw new Error(`Message ${position} of session ${key} is missing`);
    return toMessage(row);
  };
  const withMessages = (session: SessionRecord, turn: TurnRecord): OpenTurn => {
    const { key } = session;
    const userMessage = messageAt(key, turn.userPosition);
    const agentMessage = turn.agentPosition === null ? null : messageAt(key, turn.agentPosition);
    // A session has one turn at a time that has started, so that what it asks is what its session asks.
    const asks = agentMessage !== null && waitsForPerson(agentMessage);
    return { turn, userMessage, agentMessage, actions: asks ? pendingActions(session) : [] };
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

/** Text that was checkpointed beyond the last finished step of a turn; `null` for whichever turn has any. */
function prepareStreamedText(database: DatabaseSync): (key: number, turn: number | null) => string {
  const pieces = prepare<[number, number | null], { readonly offset: number; readonly text: string }>(
    database,
    `SELECT "offset", text FROM checkpoints WHERE session_key = ?1 AND turn = coalesce(?2, turn) ORDER BY turn, "offset"`,
  );
  return (key, turn) =>
    pieces.all(key, turn).reduce((text, piece) => text.slice(0, piece.offset) + piece.text, "");
}

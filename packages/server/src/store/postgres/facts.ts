// Reads the facts of sessions with few statements, whatever their number. The statements select sessions by
// id, so that they can be pipelined behind the one that locks the sessions, before it is known which exist.

import type { Needs } from "../../core/commands/command.ts";
import type { SystemEventRecord } from "../../core/session-event.ts";
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
import type { Connection } from "./connections.ts";
import { SessionState } from "./session-state.ts";
import { prepare, together, type Statement } from "./statement.ts";
import { ACTION, MESSAGE, TURN, of } from "../columns.ts";

/** The needs of a transaction's commands, by session id. */
export type NeedsOfSessions = ReadonlyMap<string, readonly Needs[]>;

/**
 * Adds the facts to the states of sessions, by key. Ignores facts of other sessions, because those were not
 * locked.
 */
export type AddFacts = (states: ReadonlyMap<number, SessionState>) => void;

interface OfSession {
  readonly session_key: number;
}
type ReadByIds<Row> = Statement<[readonly string[]], Row & OfSession>;

/**
 * `locked` reads facts only of sessions that this transaction has locked; `any` reads all, without changing
 * them.
 */
export type Reach = "locked" | "any";

// Evaluated first, into an array of keys, so that each statement reads its table by an index.
const SESSIONS = "SELECT key FROM sessions WHERE id = ANY($1::text[])";
/** Only a session that is processing has open turns (contract section 3). */
const PROCESSING = `${SESSIONS} AND status = 'processing'`;

const turnCounts: ReadByIds<{ readonly open_turns: number; readonly waits: boolean }> = prepare(
  `SELECT session_key, count(*) AS open_turns, bool_or(state = 'waiting') AS waits FROM turns
   WHERE session_key = ANY(ARRAY(${PROCESSING})) AND ended_at IS NULL GROUP BY session_key`,
);
const openTurns: ReadByIds<TurnRow & { readonly [Column in keyof LeaseRow]: LeaseRow[Column] | null }> =
  prepare(
    `SELECT ${TURN}, (SELECT taken_at FROM leases WHERE leases.session_key = turns.session_key) AS taken_at,
       (SELECT expires_at FROM leases WHERE leases.session_key = turns.session_key) AS expires_at
     FROM turns WHERE session_key = ANY(ARRAY(${PROCESSING})) AND ended_at IS NULL`,
  );

/** Reads of large tables. `lock` excludes sessions from the array of keys. */
function largeOf(lock: string) {
  const [sessions, processing] = [`ARRAY(${SESSIONS}${lock})`, `ARRAY(${PROCESSING}${lock})`];
  const messagesOfOpenTurns: ReadByIds<MessageRow> = prepare(
    `SELECT ${of("m", MESSAGE)} FROM turns t
     JOIN messages m ON m.session_key = t.session_key AND m.position IN (t.user_position, t.agent_position)
     WHERE t.session_key = ANY(${processing}) AND t.ended_at IS NULL`,
  );
  // LATERAL and ordered, so that even a plan for an empty table uses the index by session and not
  // `actions_due`.
  const pendingActions: ReadByIds<ActionRow> = prepare(
    `SELECT found.* FROM unnest(${processing}) AS s (key), LATERAL (
       SELECT ${ACTION} FROM actions WHERE session_key = s.key AND status = 'pending' ORDER BY number
     ) AS found`,
  );
  const streamedText: ReadByIds<{ readonly turn: number; readonly offset: number; readonly text: string }> =
    prepare(
      `SELECT session_key, turn, "offset", text FROM checkpoints WHERE session_key = ANY(${processing})
       ORDER BY session_key, turn, "offset"`,
    );
  const allMessages: ReadByIds<MessageRow> = prepare(
    `SELECT ${MESSAGE} FROM messages WHERE session_key = ANY(${sessions})`,
  );
  const systemEvents: ReadByIds<{ readonly number: number; readonly item: string }> = prepare(
    `SELECT session_key, number, item FROM system_events WHERE session_key = ANY(${sessions}) ORDER BY session_key, number`,
  );
  return { messagesOfOpenTurns, pendingActions, streamedText, allMessages, systemEvents };
}

// Locking again is nearly free, and skips the sessions that the transaction has not locked.
const large = { locked: largeOf(" FOR UPDATE SKIP LOCKED"), any: largeOf("") };

type ReadNamed<Row> = Statement<[readonly string[], readonly string[]], Row & OfSession>;
/**
 * Reads one row for each pair of a session and a name. LIMIT 1 makes this one index lookup per pair, whatever
 * the plan.
 */
function ofNames(columns: string, table: string, name: string): string {
  return `SELECT found.* FROM unnest($1::text[], $2::text[]) AS w (id, name), LATERAL (
      SELECT ${columns} FROM ${table} WHERE session_key = (SELECT key FROM sessions WHERE sessions.id = w.id) AND ${name} = w.name LIMIT 1
    ) AS found`;
}

const usedKeys: ReadNamed<{
  readonly key: string;
  readonly digest: string;
  readonly turn: number;
  readonly at: number;
}> = prepare(ofNames("session_key, key, digest, turn, at", "idempotency_keys", "key"));
/** Selects the position of the message with this name. */
const FROM_NAME =
  "(SELECT position FROM messages WHERE session_key = (SELECT key FROM sessions WHERE sessions.id = w.id) AND messages.id = w.name)";
const OF_NAMED = "(SELECT key FROM sessions WHERE sessions.id = w.id)";
const tailTurns: ReadNamed<TurnRow> = prepare(
  `SELECT found.* FROM unnest($1::text[], $2::text[]) AS w (id, name), LATERAL (SELECT ${FROM_NAME} AS place) AS f, LATERAL (
     SELECT ${TURN} FROM turns WHERE session_key = ${OF_NAMED} AND (user_position >= f.place OR agent_position >= f.place)
     ORDER BY number
   ) AS found`,
);
const tailMessages: ReadNamed<MessageRow> = prepare(
  `SELECT found.* FROM unnest($1::text[], $2::text[]) AS w (id, name), LATERAL (SELECT ${FROM_NAME} AS place) AS f, LATERAL (
     SELECT ${MESSAGE} FROM messages WHERE session_key = ${OF_NAMED} AND (position >= f.place OR position IN
       (SELECT user_position FROM turns WHERE session_key = ${OF_NAMED} AND agent_position >= f.place))
     ORDER BY position
   ) AS found`,
);
const firstMessages: ReadByIds<MessageRow> = prepare(
  `SELECT ${MESSAGE} FROM messages WHERE session_key = ANY(ARRAY(${SESSIONS})) AND position = 1`,
);
const namedActions: ReadNamed<ActionRow> = prepare(ofNames(ACTION, "actions", "actions.id"));

/** Reads the facts of sessions. Sends all statements before it returns its promise. */
export async function readFacts(
  connection: Connection,
  needs: NeedsOfSessions,
  reach: Reach,
): Promise<AddFacts> {
  const facts = await together([
    ...readTurns(connection, needs, reach),
    ...readAll(connection, needs, reach),
    ...readNamed(connection, needs),
  ]);
  return (states) => facts.forEach((add) => add(states));
}

/** Returns the states of sessions with their facts, by key. */
export function statesOf(rows: readonly SessionRow[], addFacts: AddFacts): ReadonlyMap<number, SessionState> {
  const sessions = rows.map(toSession);
  const states = new Map(sessions.map((session) => [session.key, new SessionState(session, session)]));
  addFacts(states);
  return states;
}

function readTurns(connection: Connection, wanted: NeedsOfSessions, reach: Reach): Promise<AddFacts>[] {
  const turns = idsOf(wanted, (needs) => needs.openTurns === true || needs.snapshot === true);
  const whole = new Set(idsOf(wanted, ({ snapshot }) => snapshot === true));
  const streamed = idsOf(wanted, (needs) => needs.checkpointed === true || needs.snapshot === true);
  const isRead = new Set(turns);
  const counted = idsOf(wanted, (needs) => needs.turnCount === true).filter((id) => !isRead.has(id));
  const { messagesOfOpenTurns, pendingActions, streamedText } = large[reach];
  const read = reader(connection);
  return [
    read(turnCounts, counted, (state, row) =>
      state.addTurnCount({ openTurns: row.open_turns, waits: row.waits }),
    ),
    read(openTurns, turns, (state, { expires_at, ...row }) => {
      state.addTurn(toTurn(row));
      if (expires_at !== null) state.addLease(toLease({ ...row, expires_at }));
    }),
    read(
      messagesOfOpenTurns,
      turns.filter((id) => !whole.has(id)),
      (state, row) => state.addMessage(toMessage(row)),
    ),
    read(pendingActions, turns, (state, row) => state.addAction(toAction(row))),
    read(streamedText, streamed, (state, row) => state.addCheckpoint(row.turn, row.offset, row.text)),
  ];
}

function readAll(connection: Connection, wanted: NeedsOfSessions, reach: Reach): Promise<AddFacts>[] {
  const { allMessages, systemEvents } = large[reach];
  const ids = idsOf(wanted, ({ snapshot }) => snapshot === true);
  const read = reader(connection);
  return [
    read(allMessages, ids, (state, row) => state.addMessage(toMessage(row))),
    read(systemEvents, ids, (state, row) => {
      const item = JSON.parse(row.item) as SystemEventRecord["item"];
      state.addSystemEvents([{ number: row.number, item }]);
    }),
  ];
}

function readNamed(connection: Connection, wanted: NeedsOfSessions): Promise<AddFacts>[] {
  const keys = namesOf(wanted, ({ idempotencyKey }) => idempotencyKey);
  const actions = namesOf(wanted, ({ action }) => action);
  const tails = namesOf(wanted, ({ tail }) => tail);
  const titled = idsOf(wanted, ({ firstTurn }) => firstTurn === true);
  return [
    reader(connection)(firstMessages, titled, (state, row) => state.addMessage(toMessage(row))),
    ifAny(tails, async () =>
      adding(await tailTurns.all(connection, ...listsOf(tails)), (state, row) =>
        state.addTailTurn(toTurn(row)),
      ),
    ),
    ifAny(tails, async () =>
      adding(await tailMessages.all(connection, ...listsOf(tails)), (state, row) =>
        state.addTailMessage(toMessage(row)),
      ),
    ),
    ifAny(keys, async () =>
      adding(await usedKeys.all(connection, ...listsOf(keys)), (state, row) =>
        state.addUsedKey(row.key, { digest: row.digest, turn: row.turn, at: row.at }),
      ),
    ),
    ifAny(actions, async () =>
      adding(await namedActions.all(connection, ...listsOf(actions)), (state, row) =>
        state.addAction(toAction(row)),
      ),
    ),
  ];
}

function idsOf(wanted: NeedsOfSessions, isWanted: (needs: Needs) => boolean): readonly string[] {
  return [...wanted].flatMap(([id, needs]) => (needs.some(isWanted) ? [id] : []));
}

type Named = readonly [id: string, name: string];

function namesOf(
  wanted: NeedsOfSessions,
  nameIn: (needs: Needs) => string | null | undefined,
): readonly Named[] {
  return [...wanted].flatMap(([id, needs]) =>
    [...new Set(needs.map(nameIn))].flatMap((name): Named[] =>
      typeof name === "string" ? [[id, name]] : [],
    ),
  );
}

function listsOf(named: readonly Named[]): [readonly string[], readonly string[]] {
  return [named.map(([id]) => id), named.map(([, name]) => name)];
}

type Add<Row> = (state: SessionState, row: Row) => void;

function reader(connection: Connection) {
  return <Row>(statement: ReadByIds<Row>, ids: readonly string[], add: Add<Row & OfSession>) =>
    ifAny(ids, async () => adding(await statement.all(connection, ids), add));
}

async function ifAny(wanted: readonly unknown[], read: () => Promise<AddFacts>): Promise<AddFacts> {
  return wanted.length > 0 ? await read() : () => undefined;
}

function adding<Row extends OfSession>(rows: readonly Row[], add: Add<Row>): AddFacts {
  return (states) => {
    for (const row of rows) {
      const state = states.get(row.session_key);
      if (state !== undefined) add(state, row);
    }
  };
}

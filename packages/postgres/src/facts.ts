// Reads the facts of any number of sessions with a fixed set of statements. The statements select sessions by id, so
// that they can be pipelined behind the statement that locks the sessions, before its result is known. `SessionState`
// updates the facts while commands change a session.

import type { ActionRecord } from "@colloquy/engine/internal/core/action";
import {
  type Needs,
  type Origin,
  partialTextOf,
  type StoredFacts,
  type TurnCount,
} from "@colloquy/engine/internal/core/commands/command";
import { needsOf } from "@colloquy/engine/internal/core/commands/decide";
import type { Removal, SessionDraft, UsedKey } from "@colloquy/engine/internal/core/commands/draft";
import type { SessionCommand } from "@colloquy/engine/internal/core/commands/index";
import type { FileRecord } from "@colloquy/engine/internal/core/file";
import type { MessageRecord } from "@colloquy/engine/internal/core/message";
import type { StoredSession } from "@colloquy/engine/internal/core/ports/driven/session-store";
import type { SessionRecord } from "@colloquy/engine/internal/core/session";
import { SYSTEM_EVENTS_SHOWN, type SystemEventRecord } from "@colloquy/engine/internal/core/session-event";
import {
  type Lease,
  LEASE_MS,
  type OpenTurn,
  openTurnOf,
  type TurnRecord,
} from "@colloquy/engine/internal/core/turn";
import { ACTION, FILE, MESSAGE, of, TURN } from "@colloquy/engine/internal/store/columns";
import {
  type ActionRow,
  type FileRow,
  type LeaseRow,
  type MessageRow,
  type SessionRow,
  toAction,
  toFile,
  toLease,
  toMessage,
  toSession,
  toTurn,
  type TurnRow,
} from "@colloquy/engine/internal/store/rows";
import type { Connection } from "./connections.ts";
import { prepare, type Statement, together } from "./statement.ts";

/** Needs of a transaction's commands, by session id. */
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
 * Sessions whose facts are read. `locked`: only sessions that this transaction has locked. `any`: all, for reads
 * without changes.
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

// SKIP LOCKED omits sessions that another transaction has locked. Locking a session twice is nearly free.
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
/** Selects the position of a message by its id. */
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
     SELECT ${MESSAGE} FROM messages WHERE session_key = ${OF_NAMED}
       AND position >= least(f.place, (SELECT min(user_position) FROM turns WHERE session_key = ${OF_NAMED} AND agent_position >= f.place))
       AND (position >= f.place OR turn IN (SELECT number FROM turns WHERE session_key = ${OF_NAMED} AND agent_position >= f.place))
     ORDER BY position
   ) AS found`,
);
const firstMessages: ReadByIds<MessageRow> = prepare(
  `SELECT ${MESSAGE} FROM messages WHERE session_key = ANY(ARRAY(${SESSIONS})) AND position = 1`,
);
const namedMessages: ReadNamed<MessageRow> = prepare(ofNames(MESSAGE, "messages", "messages.id"));
const namedFiles: ReadNamed<FileRow> = prepare(ofNames(FILE, "files", "files.id"));
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

function readTurns(connection: Connection, needsById: NeedsOfSessions, reach: Reach): Promise<AddFacts>[] {
  const turns = idsOf(needsById, (needs) => needs.openTurns === true || needs.snapshot === true);
  const whole = new Set(idsOf(needsById, ({ snapshot }) => snapshot === true));
  const streamed = idsOf(needsById, (needs) => needs.checkpointed === true || needs.snapshot === true);
  const isRead = new Set(turns);
  const counted = idsOf(needsById, (needs) => needs.turnCount === true).filter((id) => !isRead.has(id));
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

function readAll(connection: Connection, needsById: NeedsOfSessions, reach: Reach): Promise<AddFacts>[] {
  const { allMessages, systemEvents } = large[reach];
  const ids = idsOf(needsById, ({ snapshot }) => snapshot === true);
  const read = reader(connection);
  return [
    read(allMessages, ids, (state, row) => state.addMessage(toMessage(row))),
    read(systemEvents, ids, (state, row) => {
      const item = JSON.parse(row.item) as SystemEventRecord["item"];
      state.addSystemEvents([{ number: row.number, item }]);
    }),
  ];
}

function readNamed(connection: Connection, needsById: NeedsOfSessions): Promise<AddFacts>[] {
  const keys = namesOf(needsById, ({ idempotencyKey }) => idempotencyKey);
  const actions = namesOf(needsById, ({ action }) => action);
  const messages = namesOf(needsById, ({ message }) => message);
  const tails = namesOf(needsById, ({ tail }) => tail);
  const files = namesOf(needsById, ({ files: ids }) => ids);
  const titled = idsOf(needsById, ({ firstTurn }) => firstTurn === true);
  return [
    reader(connection)(firstMessages, titled, (state, row) => state.addMessage(toMessage(row))),
    ifAny(messages, async () =>
      adding(await namedMessages.all(connection, ...listsOf(messages)), (state, row) =>
        state.addMessage(toMessage(row)),
      ),
    ),
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
    ifAny(files, async () =>
      adding(await namedFiles.all(connection, ...listsOf(files)), (state, row) => state.addFile(toFile(row))),
    ),
    ifAny(actions, async () =>
      adding(await namedActions.all(connection, ...listsOf(actions)), (state, row) =>
        state.addAction(toAction(row)),
      ),
    ),
  ];
}

function idsOf(needsById: NeedsOfSessions, isWanted: (needs: Needs) => boolean): readonly string[] {
  return [...needsById].flatMap(([id, needs]) => (needs.some(isWanted) ? [id] : []));
}

type Named = readonly [id: string, name: string];

function namesOf(
  needsById: NeedsOfSessions,
  namesIn: (needs: Needs) => string | readonly string[] | null | undefined,
): readonly Named[] {
  return [...needsById].flatMap(([id, needs]) =>
    [...new Set(needs.flatMap((one) => namesIn(one) ?? []))].map((name): Named => [id, name]),
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

async function ifAny(keys: readonly unknown[], read: () => Promise<AddFacts>): Promise<AddFacts> {
  return keys.length > 0 ? await read() : () => undefined;
}

function adding<Row extends OfSession>(rows: readonly Row[], add: Add<Row>): AddFacts {
  return (states) => {
    for (const row of rows) {
      const state = states.get(row.session_key);
      if (state !== undefined) add(state, row);
    }
  };
}

/**
 * A session within one transaction. It is read once, under its lock. Each command changes it, so that later commands
 * of the transaction see the changes.
 */
export class SessionState {
  /** Session before the transaction; `null` if the transaction creates it. */
  readonly before: SessionRecord | null;
  readonly #turns = new Map<number, TurnRecord>();
  readonly #messages = new Map<number, MessageRecord>();
  readonly #pending = new Map<string, ActionRecord>();
  readonly #actions = new Map<string, ActionRecord>();
  readonly #usedKeys = new Map<string, UsedKey>();
  readonly #files = new Map<string, FileRecord>();
  /** Checkpointed text of the current step, by turn number. */
  readonly #streamed = new Map<number, string>();
  readonly #tail = { messages: [] as MessageRecord[], turns: [] as TurnRecord[] };
  #lease: Lease | null = null;
  /** Open turns that were counted but not read. */
  #unread: TurnCount = { openTurns: 0, waits: false };
  #systemEvents: readonly SystemEventRecord[] = [];
  #session: SessionRecord;

  constructor(session: SessionRecord, before: SessionRecord | null) {
    this.#session = session;
    this.before = before;
  }

  get session(): SessionRecord {
    return this.#session;
  }

  /** Returns the facts of a command. Its needs must have been read. */
  factsFor(command: SessionCommand, origin: Origin | null = null): StoredFacts {
    const { idempotencyKey = null, action = null, message = null, files = [] } = needsOf(command);
    return {
      turnCount: () => this.#countOpenTurns(),
      openTurns: () => this.openTurns(),
      checkpointed: () => partialTextOf(this.openTurns(), (turn) => this.#streamedOf(turn)),
      idempotencyKey: () => (idempotencyKey === null ? null : (this.#usedKeys.get(idempotencyKey) ?? null)),
      action: () => (action === null ? null : (this.#actions.get(action) ?? null)),
      message: () => [...this.#messages.values()].find(({ id }) => id === message) ?? null,
      tail: () => this.#tail,
      firstTurn: () => this.#messages.get(1)?.turn ?? null,
      files: () => files.flatMap((id) => this.#files.get(id) ?? []),
      origin: () => origin,
      lease: () => this.#lease,
    };
  }

  addLease(lease: Lease): void {
    this.#lease = lease;
  }

  addTailMessage(message: MessageRecord): void {
    this.#tail.messages.push(message);
  }

  addTailTurn(turn: TurnRecord): void {
    this.#tail.turns.push(turn);
  }

  addTurn(turn: TurnRecord): void {
    if (turn.endedAt === null) this.#turns.set(turn.number, turn);
    else this.#turns.delete(turn.number);
  }

  /** Sets the count of open turns, if the turns themselves are not read. */
  addTurnCount(count: TurnCount): void {
    this.#unread = count;
  }

  addMessage(message: MessageRecord): void {
    this.#messages.set(message.position, message);
  }

  addFile(file: FileRecord): void {
    this.#files.set(file.id, file);
  }

  addAction(action: ActionRecord): void {
    this.#actions.set(action.id, action);
    if (action.status === "pending") this.#pending.set(action.id, action);
    else this.#pending.delete(action.id);
  }

  addSystemEvents(events: readonly SystemEventRecord[]): void {
    this.#systemEvents = [...this.#systemEvents, ...events].slice(-SYSTEM_EVENTS_SHOWN);
  }

  addUsedKey(key: string, used: UsedKey): void {
    this.#usedKeys.set(key, used);
  }

  /** Replaces the checkpointed text of a turn from `offset` on. */
  addCheckpoint(turn: number, offset: number, text: string): void {
    this.#streamed.set(turn, this.#streamedOf(turn).slice(0, offset) + text);
  }

  apply(draft: SessionDraft): void {
    this.#session = draft.session;
    if (draft.removal !== null) this.#remove(draft.removal);
    for (const message of draft.addedMessages) this.addMessage(message);
    for (const message of draft.changedMessages.values()) this.addMessage(message);
    for (const turn of draft.addedTurns) this.addTurn(turn);
    for (const turn of draft.changedTurns.values()) this.addTurn(turn);
    for (const file of draft.addedFiles) this.addFile(file);
    for (const file of draft.changedFiles.values()) this.addFile(file);
    for (const { turn, into } of draft.mergedTurns) this.#merge(turn, into);
    for (const action of draft.addedActions) this.addAction(action);
    for (const action of draft.changedActions.values()) this.addAction(action);
    if (draft.systemEvents.length > 0) this.addSystemEvents(draft.systemEvents);
    for (const turn of draft.obsoleteCheckpoints) this.#streamed.delete(turn);
    for (const { key, ...used } of draft.usedKeys) this.addUsedKey(key, used);
    if (draft.lease?.kind === "released") this.#lease = null;
    if (draft.lease?.kind === "taken") this.#lease = { takenAt: draft.at, expiresAt: draft.at + LEASE_MS };
  }

  #merge(turn: number, into: number): void {
    this.#turns.delete(turn);
    for (const [key, used] of this.#usedKeys)
      if (used.turn === turn) this.#usedKeys.set(key, { ...used, turn: into });
  }

  #remove({ position, turns, cut, since }: Removal): void {
    const gone = new Set([...turns, ...cut.map(({ turn }) => turn)]);
    for (const place of this.#messages.keys()) if (place >= position) this.#messages.delete(place);
    for (const number of gone) {
      this.#turns.delete(number);
      this.#streamed.delete(number);
    }
    for (const { id, turn } of this.#actions.values()) {
      if (!gone.has(turn)) continue;
      this.#actions.delete(id);
      this.#pending.delete(id);
    }
    this.#systemEvents = this.#systemEvents.filter(({ item }) => item.created_at < since);
  }

  #countOpenTurns(): TurnCount {
    const { openTurns, waits } = this.#unread;
    return {
      openTurns: openTurns + this.#turns.size,
      waits: waits || this.#turns.values().some(({ state }) => state === "waiting"),
    };
  }

  /** Returns the open turns with their messages, oldest first. Throws if the turns were only counted. */
  openTurns(): readonly OpenTurn[] {
    if (this.#unread.openTurns > 0) throw new Error("A command needs turns that were only counted");
    const pending = this.#pendingActions();
    return [...this.#turns.values()]
      .toSorted((left, right) => left.number - right.number)
      .map((turn) =>
        openTurnOf(
          turn,
          (position) => this.#messageAt(position),
          () => pending,
        ),
      );
  }

  /** Returns the content of a snapshot. It must have been read. */
  load(): StoredSession {
    return {
      session: this.#session,
      messages: [...this.#messages.values()].toSorted((left, right) => left.position - right.position),
      systemEvents: this.#systemEvents,
      pendingActions: this.#pendingActions(),
      checkpointed: [...this.#streamed.values()].at(-1) ?? "",
    };
  }

  #pendingActions(): readonly ActionRecord[] {
    return [...this.#pending.values()].toSorted((left, right) => left.number - right.number);
  }

  #streamedOf(turn: number): string {
    return this.#streamed.get(turn) ?? "";
  }

  #messageAt(position: number): MessageRecord {
    const message = this.#messages.get(position);
    if (message === undefined)
      throw new Error(`Message ${position} of session ${this.#session.key} is missing`);
    return message;
  }
}

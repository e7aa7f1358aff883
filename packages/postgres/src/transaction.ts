// Runs commands in one transaction: locks the sessions, reads the facts, decides the commands one by one, and writes
// all changes at once.

import type { Origin } from "@colloquy/engine/internal/core/commands/command";
import {
  birthOf,
  decideCommand,
  type Decision,
  loadsSession,
  needsOf,
  sessionOf,
} from "@colloquy/engine/internal/core/commands/decide";
import { SessionDraft } from "@colloquy/engine/internal/core/commands/draft";
import type { SessionCommand } from "@colloquy/engine/internal/core/commands/index";
import { Unavailable } from "@colloquy/engine/internal/core/errors";
import type { Committed } from "@colloquy/engine/internal/core/ports/driven/session-store";
import { newSession, type SessionBirth } from "@colloquy/engine/internal/core/session";
import { FILE, MESSAGE, SESSION, STEP, TURN } from "@colloquy/engine/internal/store/columns";
import {
  type FileRow,
  type MessageRow,
  type SessionRow,
  type StepRow,
  toFile,
  toMessage,
  toStep,
  toTurn,
  type TurnRow,
} from "@colloquy/engine/internal/store/rows";
import { ofSession } from "@colloquy/engine/internal/store/shared";
import { type Calls, PASSED_OVER } from "./calls.ts";
import { BARRIER, LAST_CHECKPOINT, SERVER, type TransactionName } from "./commit.ts";
import type { Connection } from "./connections.ts";
import { Changes, writeOf } from "./draft-writer.ts";
import { type NeedsOfSessions, readFacts, SessionState, statesOf } from "./facts.ts";
import { isAbsent, lockOrBegin, type Patience, triesBirth } from "./session-locks.ts";
import { prepare, together } from "./statement.ts";

export interface Locked {
  readonly sessions: NeedsOfSessions;
  readonly patience: Patience;
  /** Upper bound of the epochs that the commands take. */
  readonly epochs: number;
  /** Ids of sessions to create if they do not exist. */
  readonly births: ReadonlySet<string>;
}

interface Decided extends Decision {
  readonly state: SessionState;
  readonly draft: SessionDraft;
  readonly isNew: boolean;
}

export class Transaction {
  /** The database's time in milliseconds since the Unix epoch, taken under the locks. */
  readonly at: number;
  readonly name: TransactionName;
  readonly changes = new Changes();
  readonly #numbers: Numbers;
  readonly #byId: Map<string, SessionState>;

  private constructor(numbers: Numbers, states: ReadonlyMap<number, SessionState>) {
    this.at = numbers.at;
    this.name = numbers.transaction;
    this.#numbers = numbers;
    this.#byId = new Map(Array.from(states.values(), (state) => [state.session.id, state]));
  }

  /**
   * Locks and reads in one round trip. The server runs the statements in order, and each sees what is
   * committed before it (READ COMMITTED), so time, epochs and facts are read under the locks.
   */
  static async begin(connection: Connection, locked: Locked): Promise<Transaction> {
    const { sessions, patience, epochs, births } = locked;
    const ids = [...sessions.keys()];
    const existing = ids.filter((id) => !births.has(id));
    const [rows, numbers, addFacts] = await together([
      lockOrBegin(connection, ids, [...births], patience),
      takeNumbers(connection, { epochs, existing, births: [...births] }),
      readFacts(connection, sessions, "locked"),
    ]);
    return new Transaction(numbers, statesOf(rows, addFacts));
  }

  /** Returns true if another transaction has locked a session, whose state is therefore unknown here. */
  isHeld(id: string): boolean {
    const { absent, unborn } = this.#numbers;
    return !this.#byId.has(id) && !absent.has(id) && (unborn.get(id) ?? null) === null;
  }

  byId(id: string): SessionState | null {
    return this.#byId.get(id) ?? null;
  }

  /**
   * Runs a command, like `CommandStore.execute`. `origin` is the session from which it copies. Later commands
   * of the transaction see its changes.
   */
  execute(at: number, command: SessionCommand, origin: Origin | null = null): Committed<unknown> | null {
    const load = loadsSession(command);
    const decided = this.#decide(at, command, birthOf(command), origin);
    if (decided === null) return null;
    const { outcome, disposition, state, draft } = decided;
    if (disposition === "commit") {
      this.#keep(state, draft);
      return { ...answerOf(decided), loaded: load ? state.load() : null };
    }
    const loaded = load && !decided.isNew && disposition === "void" ? state.load() : null;
    return { outcome, session: state.session, created: false, events: [], audited: [], loaded };
  }

  /** Runs a command on a selected session. Returns `null` if it changed nothing or the session is locked. */
  executeSelected(at: number, command: SessionCommand): Committed<unknown> | null {
    const decided = this.#decide(at, command, null);
    if (decided?.disposition !== "commit") return null;
    this.#keep(decided.state, decided.draft);
    return answerOf(decided);
  }

  #decide(
    at: number,
    command: SessionCommand,
    birth: SessionBirth | null,
    origin: Origin | null = null,
  ): Decided | null {
    const id = sessionOf(command);
    const known = this.byId(id);
    const stays =
      known === null && birth?.unlessDeleted === true && (this.#numbers.deletedUntil.get(id) ?? 0) > at;
    const state =
      known ??
      (birth === null || stays ? null : new SessionState(newSession(this.#keyFor(id), id, birth, at), null));
    if (state === null) return null;
    const draft = new SessionDraft(state.session, at, () => this.#numbers.takeEpoch());
    const decision = decideCommand(command, draft, state.factsFor(command, origin), at);
    return decision === null ? null : { ...decision, state, draft, isNew: known === null };
  }

  #keep(state: SessionState, draft: SessionDraft): void {
    this.changes.add(state, draft);
    state.apply(draft);
    if (draft.isRemoved) this.#byId.delete(state.session.id);
    else this.#byId.set(state.session.id, state);
  }

  #keyFor(id: string): number {
    const key = this.#numbers.unborn.get(id) ?? null;
    if (key === null) throw new Error(`This transaction may not create the session ${id}`);
    return key;
  }
}

function answerOf({ outcome, draft: { session, events, audited }, isNew }: Decided): Committed<unknown> {
  return { outcome, session, created: isNew, events, audited, loaded: null };
}

const byId = prepare<[string], SessionRow>(`SELECT ${SESSION} FROM sessions WHERE id = $1`);

/**
 * Runs a command again that failed with `error` because the disk is full. Returns its result if it only
 * records the session's last use; rejects with `error` otherwise.
 */
export async function executeWithoutWriting(
  calls: Calls,
  command: SessionCommand,
  error: unknown,
): Promise<Committed<unknown> | null> {
  if (!(error instanceof Unavailable) || error.status !== 507) throw error;
  const id = sessionOf(command);
  const read = await calls.read(ofSession(id), async (connection) => {
    const [rows, addFacts] = await together([
      byId.all(connection, id),
      readFacts(connection, new Map([[id, [needsOf(command)]]]), "any"),
    ]);
    const [state] = statesOf(rows, addFacts).values();
    if (state === undefined && birthOf(command) !== null) throw error;
    if (state === undefined) return null;
    const { session } = state;
    const draft = new SessionDraft(session, session.updatedAt, () => {
      throw error;
    });
    const decision = decideCommand(command, draft, state.factsFor(command), session.updatedAt);
    if (decision === null) return null;
    const { outcome, disposition } = decision;
    if (disposition === "commit" && !draft.isUnchanged) throw error;
    const loads = loadsSession(command) && disposition !== "hidden";
    return { outcome, session, created: false, events: [], audited: [], loaded: loads ? state.load() : null };
  });
  // Commit without changes, to wait for the standbys: the read data may not be on them yet.
  await calls.alone(ofSession(id), () => Promise.resolve(null));
  return read;
}

const messages = prepare<[number], MessageRow>(
  `SELECT ${MESSAGE} FROM messages WHERE session_key = $1 ORDER BY position`,
);
const turns = prepare<[number], TurnRow>(`SELECT ${TURN} FROM turns WHERE session_key = $1 ORDER BY number`);
const steps = prepare<[number], StepRow & { readonly turn: number }>(
  `SELECT ${STEP} FROM steps WHERE session_key = $1 ORDER BY turn, number`,
);

const files = prepare<[number], FileRow>(
  `SELECT ${FILE} FROM files WHERE session_key = $1 AND position IS NOT NULL ORDER BY id`,
);

/**
 * Runs a command that copies from the session with the id `origin`, in a separate transaction that locks both
 * sessions in the order of their ids.
 */
export function executeCopy(
  calls: Calls,
  command: SessionCommand,
  origin: string,
): Promise<Committed<unknown> | null> {
  const target = sessionOf(command);
  return calls.alone(ofSession(target), async (connection, at, patience) => {
    const transaction = await Transaction.begin(connection, {
      sessions: new Map([
        [origin, []],
        [target, [needsOf(command)]],
      ]),
      patience,
      epochs: 0,
      births: new Set(birthOf(command) === null ? [] : [target]),
    });
    if (transaction.isHeld(target) || transaction.isHeld(origin)) return PASSED_OVER;
    const committed = transaction.execute(at, command, await readOrigin(connection, transaction, origin));
    await writeOf(transaction.changes)(connection);
    return committed;
  });
}

async function readOrigin(
  connection: Connection,
  transaction: Transaction,
  id: string,
): Promise<Origin | null> {
  const session = transaction.byId(id)?.session;
  if (session === undefined) return null;
  const [messageRows, turnRows, stepRows, fileRows] = await together([
    messages.all(connection, session.key),
    turns.all(connection, session.key),
    steps.all(connection, session.key),
    files.all(connection, session.key),
  ]);
  return {
    session,
    messages: messageRows.map(toMessage),
    turns: turnRows.map(toTurn),
    steps: stepRows.map((step) => ({ turn: step.turn, step: toStep(step) })),
    files: fileRows.map(toFile),
  };
}

/** Values that a transaction reads besides facts: time, epochs, missing sessions and new keys. */
interface Numbers {
  /** Milliseconds since the Unix epoch. */
  readonly at: number;
  readonly transaction: TransactionName;
  /** Requested sessions that do not exist and are not created here. */
  readonly absent: ReadonlySet<string>;
  /** Keys for the sessions to create; `null` if another node is creating the session. */
  readonly unborn: ReadonlyMap<string, number | null>;
  /** Time until which a session to create counts as deleted, in milliseconds since the Unix epoch. */
  readonly deletedUntil: ReadonlyMap<string, number>;
  /** Takes the next number of the store-wide sequence. */
  takeEpoch(): number;
}

interface TakenRow extends TransactionName {
  readonly at: number;
  readonly epochs: string;
  readonly absent?: readonly string[];
  readonly unborn?: Readonly<Record<string, number | null>> | null;
  readonly deleted?: Readonly<Record<string, number>> | null;
}

/**
 * Reads `Numbers` in one statement. Unused numbers leave gaps. The barrier makes a transaction that only reads, such
 * as a repeated chat, wait for the standbys: the data that it read may not be on them yet.
 */
const TAKE = `SELECT floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint AS at, pg_current_xact_id()::text AS id,
     pg_backend_pid() AS backend, ${SERVER} AS server, ${LAST_CHECKPOINT} AS checkpoint, ${BARRIER} AS barrier,
     array_to_string(ARRAY(SELECT nextval('epochs') FROM generate_series(1, $1::integer)), ' ') AS epochs`;
const take = prepare<[number], TakenRow>(TAKE);
const takeAndLook = prepare<[number, readonly string[], readonly string[]], TakenRow>(
  `${TAKE},
     ARRAY(SELECT id FROM unnest($2::text[]) AS existing (id) WHERE ${isAbsent("existing.id")}) AS absent,
     (SELECT json_object_agg(id, CASE WHEN ${triesBirth("id")} THEN nextval('session_keys') END)
      FROM unnest($3::text[]) AS born (id) WHERE ${isAbsent("born.id")}) AS unborn,
     (SELECT json_object_agg(id, until) FROM deleted_sessions WHERE id = ANY($3::text[])) AS deleted`,
);

interface NumberNeeds {
  /** Upper bound of the epochs that the transaction takes. */
  readonly epochs: number;
  /** Ids of sessions that must exist. */
  readonly existing: readonly string[];
  /** Ids of sessions to create if they do not exist. */
  readonly births: readonly string[];
}

export async function takeNumbers(connection: Connection, needs: NumberNeeds): Promise<Numbers> {
  const { epochs, existing, births } = needs;
  const row =
    existing.length + births.length === 0
      ? await take.get(connection, epochs)
      : await takeAndLook.get(connection, epochs, existing, births);
  if (row === undefined) throw new Error("The database returned no numbers");
  return {
    at: row.at,
    transaction: { id: row.id, backend: row.backend, server: row.server, checkpoint: row.checkpoint },
    absent: new Set(row.absent),
    unborn: new Map(Object.entries(row.unborn ?? {})),
    deletedUntil: new Map(Object.entries(row.deleted ?? {})),
    takeEpoch: giveOut(row.epochs),
  };
}

export const NO_NUMBERS: NumberNeeds = { epochs: 0, existing: [], births: [] };

function giveOut(list: string): () => number {
  const numbers = list === "" ? [] : list.split(" ").map(Number);
  const left = numbers.values();
  return () => {
    const { value } = left.next();
    if (value === undefined) throw new Error("A transaction needs more epochs than it took");
    return value;
  };
}

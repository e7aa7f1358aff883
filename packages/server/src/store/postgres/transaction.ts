// Runs commands in one transaction: lock the sessions, read the facts, decide command by command, write everything at once.

import {
  birthOf,
  decideCommand,
  type Decision,
  loadsSession,
  needsOf,
  sessionOf,
} from "../../core/commands/decide.ts";
import type { SessionCommand } from "../../core/commands/index.ts";
import type { Origin } from "../../core/commands/command.ts";
import { SessionDraft } from "../../core/commands/draft.ts";
import { Unavailable } from "../../core/errors.ts";
import type { Committed } from "../../core/ports/driven/session-store.ts";
import { newSession, type SessionBirth } from "../../core/session.ts";
import {
  type MessageRow,
  type SessionRow,
  type StepRow,
  toMessage,
  toStep,
  toTurn,
  type TurnRow,
} from "../rows.ts";
import { ofSession } from "../shared.ts";
import { type Calls, PASSED_OVER } from "./calls.ts";
import { Changes } from "./changes.ts";
import { MESSAGE, SESSION, STEP, TURN } from "../columns.ts";
import type { TransactionName } from "./commit.ts";
import type { Connection } from "./connections.ts";
import { type NeedsOfSessions, readFacts, statesOf } from "./facts.ts";
import { type Numbers, takeNumbers } from "./numbers.ts";
import { lockOrBegin, type Patience } from "./session-locks.ts";
import { SessionState } from "./session-state.ts";
import { prepare, together } from "./statement.ts";
import { writeOf } from "./draft-writer.ts";

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

  /** Runs a command for a selected session; `null` if it changed nothing, or if the session is locked. */
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
  // A commit without changes, because what was read may not be on the standbys yet.
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
  const [messageRows, turnRows, stepRows] = await together([
    messages.all(connection, session.key),
    turns.all(connection, session.key),
    steps.all(connection, session.key),
  ]);
  return {
    session,
    messages: messageRows.map(toMessage),
    turns: turnRows.map(toTurn),
    steps: stepRows.map((step) => ({ turn: step.turn, step: toStep(step) })),
  };
}

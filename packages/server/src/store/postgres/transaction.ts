// One transaction from beginning to end: lock the sessions, read what is to be known of them, decide call by call, write everything at once.
// What every method that changes a session has in common.

import { SessionDraft } from "../../core/commands/draft.ts";
import type { Disposition } from "../../core/commands/disposition.ts";
import { turnThatWrites } from "../../core/commands/turn-progress.ts";
import type { MessageRecord } from "../../core/message.ts";
import type { Committed, SessionTarget } from "../../core/ports/driven/session-store.ts";
import { newSession, type SessionRecord } from "../../core/session.ts";
import type { OpenTurn, TurnIdentity } from "../../core/turn.ts";
import { Changes } from "./changes.ts";
import type { TransactionName } from "./commit.ts";
import type { Connection } from "./connections.ts";
import { readFacts, statesOf, type NeedsOfSessions } from "./facts.ts";
import { takeNumbers, type Numbers } from "./numbers.ts";
import { lockOrBegin, type Patience } from "./session-locks.ts";
import { SessionState, type UsedKey } from "./session-state.ts";
import { together } from "./together.ts";

export type WritingTurn = OpenTurn & { readonly agentMessage: MessageRecord };

/** Which sessions a transaction locks, and what its calls have to know of them. */
export interface Locked {
  readonly sessions: NeedsOfSessions;
  readonly patience: Patience;
  /** Epochs that the calls take at most. */
  readonly epochs: number;
  /** Ids of the sessions that begin their life where there is none. */
  readonly births: ReadonlySet<string>;
}

export class Transaction {
  /** Time of the database in milliseconds since the Unix epoch, from behind the locks: in one session it never goes back. */
  readonly at: number;
  readonly name: TransactionName;
  readonly changes = new Changes();
  readonly #numbers: Numbers;
  readonly #byKey: Map<number, SessionState>;
  readonly #byId: Map<string, SessionState>;

  private constructor(numbers: Numbers, states: ReadonlyMap<number, SessionState>) {
    this.at = numbers.at;
    this.name = numbers.transaction;
    this.#numbers = numbers;
    this.#byKey = new Map(states);
    this.#byId = new Map(Array.from(states.values(), (state) => [state.session.id, state]));
  }

  /**
   * Locks and reads in one round trip. The server runs a statement when the one before has ended, and each sees what was committed until
   * then (READ COMMITTED): so time, epochs and all that is read are from behind the locks.
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

  /** Whether somebody else holds a session, so that nothing is known of it here. */
  isHeld(id: string): boolean {
    const { absent, unborn } = this.#numbers;
    return !this.#byId.has(id) && !absent.has(id) && (unborn.get(id) ?? null) === null;
  }

  byId(id: string): SessionState | null {
    return this.#byId.get(id) ?? null;
  }

  byKey(key: number): SessionState | null {
    return this.#byKey.get(key) ?? null;
  }

  draft(state: SessionState, at: number): SessionDraft {
    return new SessionDraft(state.session, at, () => this.#numbers.takeEpoch());
  }

  /** Keeps what a decision has left in a draft, and answers it. */
  keep<Outcome>(state: SessionState, draft: SessionDraft, outcome: Outcome): Committed<Outcome> {
    this.changes.add(state, draft);
    state.apply(draft);
    return { outcome, session: draft.session, created: false, events: draft.events, loaded: null };
  }

  /**
   * Changes the target, which begins its life here if it has none. `null` when there is none and none is to begin. The outcome is answered
   * whatever its disposition.
   */
  change<Outcome>(
    at: number,
    { id, birth, load }: SessionTarget,
    decide: (draft: SessionDraft, state: SessionState) => Outcome,
    dispositionOf: (outcome: Outcome) => Disposition = () => "commit",
  ): Committed<Outcome> | null {
    const known = this.byId(id);
    const state =
      known ?? (birth === null ? null : new SessionState(newSession(this.#keyFor(id), id, birth, at), null));
    if (state === null) return null;
    const draft = this.draft(state, at);
    const outcome = decide(draft, state);
    const disposition = dispositionOf(outcome);
    if (disposition !== "commit") {
      const loaded = load && known !== null && disposition === "void" ? state.load() : null;
      return { outcome, session: state.session, created: false, events: [], loaded };
    }
    const committed = this.keep(state, draft, outcome);
    this.#byId.set(id, state);
    this.#byKey.set(state.session.key, state);
    return { ...committed, created: known === null, loaded: load ? state.load() : null };
  }

  /** Changes a session for a turn of it; `null`, with nothing changed, when that turn may no longer write. */
  changeForTurn(
    at: number,
    identity: TurnIdentity,
    decide: (
      draft: SessionDraft,
      open: WritingTurn,
      openTurns: readonly OpenTurn[],
      state: SessionState,
    ) => void,
  ): Committed<"ok"> | null {
    const state = this.byKey(identity.sessionKey);
    if (state === null) return null;
    const openTurns = state.openTurns();
    const open = turnThatWrites(state.session, openTurns, identity, { lease: state.lease, at });
    if (open === null) return null;
    const draft = this.draft(state, at);
    decide(draft, open, openTurns, state);
    return this.keep(state, draft, "ok");
  }

  /** Keeps text that the turn has streamed, and answers that it did. */
  checkpoint({ sessionKey, turn }: TurnIdentity, offset: number, text: string): true {
    this.byKey(sessionKey)?.addCheckpoint(turn, offset, text);
    this.changes.addCheckpoint(sessionKey, turn, offset, text);
    return true;
  }

  /** Notes that a chat of this session was accepted under an idempotency key. */
  rememberKey({ key: sessionKey }: SessionRecord, key: string, used: UsedKey): void {
    this.byKey(sessionKey)?.addUsedKey(key, used);
    this.changes.addUsedKey(sessionKey, key, used);
  }

  /** Notes that a life of a session was used; answers whether it is there. */
  noteUse(id: string, life: string, at: number): boolean {
    const state = this.byId(id);
    if (state?.session.life !== life) return false;
    this.changes.use(state, at);
    return true;
  }

  /** The turn if it may still write. */
  writingTurn(at: number, identity: TurnIdentity): WritingTurn | null {
    const state = this.byKey(identity.sessionKey);
    if (state === null) return null;
    return turnThatWrites(state.session, state.openTurns(), identity, { lease: state.lease, at });
  }

  #keyFor(id: string): number {
    const key = this.#numbers.unborn.get(id) ?? null;
    if (key === null) throw new Error(`The session ${id} was not to begin its life in this transaction`);
    return key;
  }
}

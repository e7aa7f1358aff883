// A session within one transaction: read once under its lock, then changed by each command, so that later commands see earlier ones.

import type { ActionRecord } from "../../core/action.ts";
import { partialTextOf, type Origin, type StoredFacts, type TurnCount } from "../../core/commands/command.ts";
import { needsOf } from "../../core/commands/decide.ts";
import type { SessionCommand } from "../../core/commands/index.ts";
import type { Removal, SessionDraft, UsedKey } from "../../core/commands/draft.ts";
import type { MessageRecord } from "../../core/message.ts";
import type { StoredSession } from "../../core/ports/driven/session-store.ts";
import type { SessionRecord } from "../../core/session.ts";
import { SYSTEM_EVENTS_SHOWN, type SystemEventRecord } from "../../core/session-event.ts";
import { LEASE_MS, openTurnOf, type Lease, type OpenTurn, type TurnRecord } from "../../core/turn.ts";

export class SessionState {
  /** The session as it was read; `null` if this transaction creates it. */
  readonly before: SessionRecord | null;
  readonly #turns = new Map<number, TurnRecord>();
  readonly #messages = new Map<number, MessageRecord>();
  readonly #pending = new Map<string, ActionRecord>();
  readonly #actions = new Map<string, ActionRecord>();
  readonly #usedKeys = new Map<string, UsedKey>();
  /** Checkpointed text after the last finished step, by turn. */
  readonly #streamed = new Map<number, string>();
  readonly #tail = { messages: [] as MessageRecord[], turns: [] as TurnRecord[] };
  #lease: Lease | null = null;
  /** Open turns that were counted, but not read. */
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

  /** Returns the facts of a command, whose needs must have been read. */
  factsFor(command: SessionCommand, origin: Origin | null = null): StoredFacts {
    const { idempotencyKey = null, action = null } = needsOf(command);
    return {
      turnCount: () => this.#countOpenTurns(),
      openTurns: () => this.openTurns(),
      checkpointed: () => partialTextOf(this.openTurns(), (turn) => this.#streamedOf(turn)),
      idempotencyKey: () => (idempotencyKey === null ? null : (this.#usedKeys.get(idempotencyKey) ?? null)),
      action: () => (action === null ? null : (this.#actions.get(action) ?? null)),
      tail: () => this.#tail,
      firstTurn: () => this.#messages.get(1)?.turn ?? null,
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

  /** Adds counted turns, instead of `addTurn`. */
  addTurnCount(count: TurnCount): void {
    this.#unread = count;
  }

  addMessage(message: MessageRecord): void {
    this.#messages.set(message.position, message);
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

  /** Adds checkpointed text. `text` follows the first `offset` characters of the turn's checkpointed text. */
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
    for (const action of draft.addedActions) this.addAction(action);
    for (const action of draft.changedActions.values()) this.addAction(action);
    if (draft.systemEvents.length > 0) this.addSystemEvents(draft.systemEvents);
    for (const turn of draft.obsoleteCheckpoints) this.#streamed.delete(turn);
    for (const { turn, offset, text } of draft.checkpoints) this.addCheckpoint(turn, offset, text);
    for (const { key, ...used } of draft.usedKeys) this.addUsedKey(key, used);
    if (draft.lease?.kind === "released") this.#lease = null;
    if (draft.lease?.kind === "taken") this.#lease = { takenAt: draft.at, expiresAt: draft.at + LEASE_MS };
  }

  #remove({ position, turns, unanswered, since }: Removal): void {
    const gone = new Set([...turns, ...unanswered]);
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

  /** The session's open turns with their messages, oldest first. */
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

  /** Returns the content of a snapshot, which must have been read. */
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

// The pending writes of a command: everything that its transaction writes to one session. All events are created here.

import type { NoticeCode, NoticeLevel, SystemEvent } from "@colloquy/protocol";
import type { Actor, AuditAction, AuditEntry } from "../audit.ts";
import {
  claimExpiry,
  toPendingAction,
  type ActionClaim,
  type ActionRecord,
  type ActionStatus,
} from "../action.ts";
import {
  formatEventId,
  type NumberedEvent,
  type StoredEvent,
  type SystemEventRecord,
} from "../session-event.ts";
import type { FileRecord } from "../file.ts";
import type { JsonObject, JsonValue } from "../json.ts";
import { toWireMessage, wireBytesOf, wireGrowth, type MessageRecord } from "../message.ts";
import { appOf, nextStatus, type SessionRecord, type SessionTrigger } from "../session.ts";
import type { StepRecord, TurnRecord } from "../turn.ts";
import { walletOf } from "../session-access.ts";
import { mergeUserState, userStateFits } from "../user-state.ts";

/** Change of the session's lease; `null` for none. */
export type LeaseChange =
  | { readonly kind: "taken"; readonly owner: string; readonly epoch: number }
  | { readonly kind: "released" }
  | null;

/** The end of a conversation that another message replaces. */
export interface Removal {
  /** Position of the first removed message. */
  readonly position: number;
  /** Numbers of the removed turns. */
  readonly turns: readonly number[];
  /** Turns whose answers are truncated: removes their steps from a number on, and all their actions. */
  readonly cut: readonly CutTurn[];
  /** System events from this time on are removed. ISO 8601. */
  readonly since: string;
}

/** A turn whose steps from `step` on are removed. */
export interface CutTurn {
  readonly turn: number;
  readonly step: number;
}

/** A step and the number of its turn. */
export interface TurnStep {
  readonly turn: number;
  readonly step: StepRecord;
}

/** The chat that used an idempotency key. */
export interface UsedKey {
  readonly digest: string;
  readonly turn: number;
  /** Milliseconds since the Unix epoch. */
  readonly at: number;
}

export class SessionDraft {
  /** Milliseconds since the Unix epoch, on the store's clock, for expiry, leases and durations. */
  readonly at: number;
  /**
   * The time that the session records: `at`, or that of its last activity if the clock was set back, so that
   * its messages and events stay in the order of their times.
   */
  recordedAt: number;
  readonly events: NumberedEvent[] = [];
  /** The JSON of `events`, in their order. */
  readonly eventTexts: string[] = [];
  readonly systemEvents: SystemEventRecord[] = [];
  readonly addedMessages: MessageRecord[] = [];
  readonly changedMessages = new Map<number, MessageRecord>();
  readonly addedTurns: TurnRecord[] = [];
  readonly changedTurns = new Map<number, TurnRecord>();
  /**
   * Queued turns to delete, because turn `into` has read their messages. Their idempotency keys move to that
   * turn.
   */
  readonly mergedTurns: { readonly turn: number; readonly into: number }[] = [];
  readonly addedActions: ActionRecord[] = [];
  readonly changedActions = new Map<string, ActionRecord>();
  readonly addedSteps: TurnStep[] = [];
  readonly addedFiles: FileRecord[] = [];
  readonly changedFiles = new Map<string, FileRecord>();
  readonly usedKeys: (UsedKey & { readonly key: string })[] = [];
  /** Entries of the audit trail. */
  readonly audited: AuditEntry[] = [];
  lease: LeaseChange = null;
  /** Turns whose checkpointed text is no longer needed. */
  readonly obsoleteCheckpoints = new Set<number>();
  /** True if the session needs a title. */
  wantsTitle = false;
  /** Budget of the history in bytes, to store a summary job unless the session already has one. */
  summaryBudget: number | null = null;
  /** Messages and turns that are removed before everything else is written. */
  removal: Removal | null = null;
  /** Events up to this number are removed; `null` keeps all. */
  floor: number | null = null;
  /** True if the draft removes the session and writes nothing else. */
  isRemoved = false;
  readonly #before: SessionRecord;
  #session: SessionRecord;
  readonly #takeEpoch: () => number;

  /** `takeEpoch` returns a new value of the store-wide sequence at each call. */
  constructor(session: SessionRecord, at: number, takeEpoch: () => number) {
    this.#before = session;
    this.#session = session;
    this.at = at;
    this.recordedAt = Math.max(at, session.updatedAt);
    this.#takeEpoch = takeEpoch;
  }

  get session(): SessionRecord {
    return this.#session;
  }

  /** True if committing writes only the last use. Every other change also changes the session's record. */
  get isUnchanged(): boolean {
    return (
      this.#session === this.#before &&
      this.changedMessages.size === 0 &&
      this.addedFiles.length === 0 &&
      !this.isRemoved
    );
  }

  update(fields: Partial<SessionRecord>): void {
    this.#session = { ...this.#session, ...fields };
  }

  emit(event: StoredEvent): number {
    return this.#append(event, JSON.stringify(event));
  }

  /** Raises the session's epoch, so that owners of earlier leases can no longer write. */
  raiseEpoch(): number {
    const epoch = this.#takeEpoch();
    this.update({ epoch });
    return epoch;
  }

  /** Changes and announces the session's status, which nothing else changes. */
  moveStatus(trigger: SessionTrigger): void {
    const status = nextStatus(this.#session.status, trigger);
    if (status === this.#session.status) return;
    this.update({ status });
    this.announceState();
  }

  /** Fixes the session to the proved wallet that holds its address. Returns false if none of the wallets does. */
  fixWallet(proved: readonly string[]): boolean {
    const walletId = walletOf(this.#session, proved);
    if (walletId !== null && walletId !== this.#session.walletId) this.update({ walletId });
    return walletId !== null;
  }

  /** Changes and announces the owner, so that other nodes and open streams learn of it. */
  changeOwner(owner: string | null): void {
    this.update({ owner });
    this.emit({ type: "owner_changed", owner });
  }

  /** Adds an entry to the audit trail, unless `by` is `null`, which is the service itself. */
  audit(action: AuditAction, by: Actor | null | undefined, details: JsonObject = {}): void {
    if (by === null || by === undefined) return;
    const { id } = this.#session;
    this.audited.push({ action, actor: by, app: appOf(this.#session), target: id, details });
  }

  announceState(): void {
    const session = this.#session;
    this.emit({
      type: "state_changed",
      status: session.status,
      model: session.model,
      app: appOf(session),
      user_state: session.userState,
    });
  }

  /**
   * Merges and announces user state. Returns `too_large` if the result exceeds the limits; the draft must
   * then be void.
   */
  mergeUserState(patch: JsonObject): "ok" | "too_large" {
    const merged = mergeUserState(this.#session.userState, patch);
    if (merged === this.#session.userState) return "ok";
    if (merged !== null && !userStateFits(merged)) return "too_large";
    this.update({ userState: merged });
    this.announceState();
    return "ok";
  }

  addSystemEvent(type: SystemEvent["type"], payload: JsonObject): void {
    const number = this.#session.head + 1;
    const item: SystemEvent = {
      id: formatEventId(this.#session.incarnation, number),
      type,
      created_at: new Date(this.recordedAt).toISOString(),
      payload,
    };
    this.systemEvents.push({ number, item });
    this.emit({ type: "system_event", item });
  }

  /** Emits a `system_notice`, and stores it as a system event, with the number of the turn that it ended. */
  addNotice(level: NoticeLevel, code: NoticeCode, message: string, turn?: number): void {
    const payload = { code, level, message, ...(turn !== undefined && { turn }) };
    this.addSystemEvent(level === "error" ? "error" : "notice", payload);
    this.emit({ type: "system_notice", message, level, code });
  }

  addMessage(message: Omit<MessageRecord, "position" | "createdAt">): MessageRecord {
    const position = this.#session.messageCount + 1;
    const added = { ...message, position, createdAt: this.recordedAt };
    this.update({ messageCount: position });
    this.addedMessages.push(added);
    this.#emitMessage("message_created", added);
    return added;
  }

  /** Replaces `before`, a message read or added earlier; emits `message_completed` if it is final. */
  changeMessage(
    before: MessageRecord,
    message: MessageRecord,
    event: "message_updated" | "message_completed",
  ): MessageRecord {
    this.keepMessage(message);
    this.#emitMessage(event, message, before);
    return message;
  }

  /**
   * Replaces fields of a message that only recovery needs. Emits no event, so the message's wire form must
   * not change.
   */
  keepMessage(message: MessageRecord): MessageRecord {
    const added = this.addedMessages.findIndex((other) => other.position === message.position);
    if (added >= 0) this.addedMessages[added] = message;
    else this.changedMessages.set(message.position, message);
    return message;
  }

  /**
   * Removes a message, all later messages and system events, and the whole event log, which may quote them.
   * Events that this draft has already added are published, but not stored.
   */
  removeMessages(
    { id, position, createdAt }: MessageRecord,
    bytes: number,
    turns: Pick<Removal, "turns" | "cut">,
  ): void {
    const gone = new Set([...turns.turns, ...turns.cut.map(({ turn }) => turn)]);
    for (const other of this.changedMessages.keys())
      if (other >= position) this.changedMessages.delete(other);
    for (const number of turns.turns) this.changedTurns.delete(number);
    for (const action of this.changedActions.values())
      if (gone.has(action.turn)) this.changedActions.delete(action.id);
    const since = new Date(createdAt).toISOString();
    const kept = this.systemEvents.filter(({ item }) => item.created_at < since);
    this.systemEvents.splice(0, this.systemEvents.length, ...kept);
    const { messageBytes } = this.#session;
    this.update({
      messageCount: position - 1,
      messageBytes: messageBytes === null ? null : Math.max(0, messageBytes - bytes),
      eventBytes: 0,
    });
    const number = this.emit({ type: "messages_removed", from: id });
    this.removal = { position, ...turns, since };
    this.floor = number - 1;
  }

  /**
   * Adds finished turns of another session to this one, which has none. No event contains them, so
   * subscribers fetch the snapshot.
   */
  copyTurns(
    messages: readonly MessageRecord[],
    turns: readonly TurnRecord[],
    steps: readonly TurnStep[],
    files: readonly FileRecord[],
  ): void {
    this.addedFiles.push(...files);
    this.addedMessages.push(...messages);
    // The origin may be ahead of a clock that was set back.
    this.recordedAt = Math.max(this.recordedAt, messages.at(-1)?.createdAt ?? 0);
    this.addedTurns.push(...turns);
    this.addedSteps.push(...steps);
    this.update({
      messageCount: messages.length,
      messageBytes: messages.reduce((sum, message) => sum + wireBytesOf(message), 0),
      turnCount: turns.at(-1)?.number ?? 0,
    });
    this.floor = this.emit({ type: "messages_copied" });
    this.update({ eventBytes: 0 });
  }

  /** Adds a pending action and announces it. */
  addAction(action: Omit<ActionRecord, "number">): ActionRecord {
    const added = { ...action, number: this.#session.head + 1 };
    this.addedActions.push(added);
    this.addSystemEvent("action_requested", toPendingAction(added));
    return added;
  }

  /** Sets or ends the claim of a pending action, and announces it. */
  claimAction(action: ActionRecord, claim: ActionClaim | null): ActionRecord {
    const claimed = { ...action, claim };
    this.changedActions.set(action.id, claimed);
    this.emit({ type: "action_claimed", id: action.id, claim_expires_at: claimExpiry(claim) });
    return claimed;
  }

  /** Announces the reminder of a pending action. */
  remindOfAction(action: ActionRecord): ActionRecord {
    const reminded = { ...action, remindAt: null };
    this.changedActions.set(action.id, reminded);
    const expires_at = new Date(action.expiresAt).toISOString();
    this.addSystemEvent("action_reminder", { id: action.id, tool: action.tool, expires_at });
    return reminded;
  }

  resolveAction(
    action: ActionRecord,
    status: Exclude<ActionStatus, "pending">,
    result: JsonValue,
  ): ActionRecord {
    const resolved = { ...action, status, result, claim: null, remindAt: null, resolvedAt: this.recordedAt };
    this.changedActions.set(action.id, resolved);
    this.addSystemEvent("action_resolved", { id: action.id, status, result });
    return resolved;
  }

  addTurn(turn: Omit<TurnRecord, "number">): TurnRecord {
    const added = { ...turn, number: this.#session.turnCount + 1 };
    this.update({ turnCount: added.number });
    this.addedTurns.push(added);
    return added;
  }

  changeTurn(turn: TurnRecord): TurnRecord {
    const added = this.addedTurns.findIndex((other) => other.number === turn.number);
    if (added >= 0) this.addedTurns[added] = turn;
    else this.changedTurns.set(turn.number, turn);
    return turn;
  }

  /** Removes a queued turn whose message another turn has read. */
  mergeTurn({ number }: TurnRecord, into: number): void {
    this.changedTurns.delete(number);
    this.mergedTurns.push({ turn: number, into });
  }

  rememberKey({ key, digest }: { readonly key: string; readonly digest: string }, turn: number): void {
    this.usedKeys.push({ key, digest, turn, at: this.at });
  }

  /**
   * Emits a message, and counts its bytes or, if it replaces `before`, the difference. Uncounted sessions
   * stay uncounted.
   */
  #emitMessage(
    type: "message_created" | "message_updated" | "message_completed",
    record: MessageRecord,
    before: MessageRecord | null = null,
  ): void {
    const message = toWireMessage(record);
    const json = JSON.stringify(message);
    const { messageBytes } = this.#session;
    if (messageBytes !== null) {
      const growth = before === null ? Buffer.byteLength(json) : wireGrowth(before, record);
      this.update({ messageBytes: Math.max(0, messageBytes + growth) });
    }
    // Build the event's JSON from that of the message, so that the message is serialized once.
    const index = record.position - 1;
    this.#append({ type, message, index }, `{"type":"${type}","message":${json},"index":${index}}`);
  }

  #append(event: StoredEvent, text: string): number {
    const number = this.#session.head + 1;
    const { eventBytes: bytesBefore } = this.#session;
    const eventBytes = bytesBefore === null ? null : bytesBefore + Buffer.byteLength(text);
    this.update({ head: number, updatedAt: this.recordedAt, eventBytes });
    this.events.push({ number, event });
    this.eventTexts.push(text);
    return number;
  }
}

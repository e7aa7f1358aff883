// A session in memory: the fold of its committed events, and its streaming text.

import type { Message, PendingAction, ResolvedAction, SystemEvent } from "@colloquy/protocol";
import { toPendingAction } from "../core/action.ts";
import type { JsonObject } from "../core/json.ts";
import { joinStepText, toWireMessage } from "../core/message.ts";
import type { Clock } from "../core/ports/driven/clock.ts";
import type { StreamingText, StreamPosition } from "../core/ports/driven/event-hub.ts";
import type { StoredSession } from "../core/ports/driven/session-store.ts";
import type { MessageRange, SnapshotView } from "../core/ports/driving/services.ts";
import { hiddenFrom, type SessionAccess } from "../core/session-access.ts";
import type { NumberedEvent } from "../core/session-event.ts";
import { appOf, DEFAULT_APP } from "../core/session.ts";
import { mergeUserState } from "../core/user-state.ts";
import { Snapshot } from "./snapshot.ts";

const MAX_EARLY = 1000;

/**
 * Maximum age of the recorded use: older use is recorded again before the response. Cleanup adds this time to
 * every expiry, so it never removes a session that was used in the meantime.
 */
export const USE_RECORDED_MS = 5 * 60_000;

/**
 * A time on both clocks of this process: the wall clock may be set back, and the monotonic clock stands still
 * while the machine is suspended. The store's clock is on another machine.
 */
export interface Moment {
  readonly wall: number;
  readonly monotonic: number;
}

export function momentOf(clock: Pick<Clock, "now" | "monotonic">): Moment {
  return { wall: clock.now(), monotonic: clock.monotonic() };
}

/** Text added to a message at `offset`. */
type Growth = Pick<StreamingText, "messageId" | "text"> & { readonly offset: number };

export class Session {
  readonly id: string;
  /** As in `SessionRecord`. */
  readonly spelling: string;
  readonly incarnation: string;
  /** The store's key of this incarnation. */
  readonly key: number;
  readonly #snapshot: Snapshot;
  /** Text of the finished steps of the streaming answer. */
  #finished = "";
  /** Length of the current step after its last growth; `null` if unknown: the next `grow` returns its whole text. */
  #stepLength: number | null = null;
  #textMark: string | null = null;
  /** Number of interrupts in progress, during which the text must not grow. */
  #freezes = 0;
  /** Events that arrived before earlier ones, by number. */
  readonly #early = new Map<number, NumberedEvent>();
  readonly #waiters = new Set<() => void>();
  /** Sequence number of the newest event that requested a decision; 0 for none. */
  #lastRequest = 0;
  #ended = false;
  #replaced = false;
  #useNotedAt: Moment | null = null;
  #epoch: number;
  #owner: string | null;
  /** True if the session has no messages; such sessions are evicted first. */
  isEmpty: boolean;

  constructor(stored: StoredSession) {
    const { session } = stored;
    this.id = session.id;
    this.spelling = session.spelling;
    this.incarnation = session.incarnation;
    this.key = session.key;
    this.#epoch = session.epoch;
    this.#owner = session.owner;
    this.isEmpty = session.messageCount === 0;
    this.#snapshot = new Snapshot({
      sessionId: session.spelling,
      incarnation: session.incarnation,
      title: session.title,
      status: session.status,
      model: session.model,
      app: appOf(session),
      userState: session.userState,
      head: session.head,
    });
    for (const message of stored.messages) this.#snapshot.addMessage(toWireMessage(message));
    for (const { number, item } of stored.systemEvents) {
      this.#snapshot.addSystemEvent(item);
      if (item.type === "action_requested") this.#lastRequest = number;
    }
    for (const action of stored.pendingActions) this.#snapshot.addPendingAction(toPendingAction(action));
    // Shows the checkpointed text until the turn runs again.
    this.#finished = this.#snapshot.streaming()?.message.content ?? "";
    this.#showStep(stored.checkpointed);
  }

  /** A copy, because the session may change while a stream opens. */
  get position(): StreamPosition {
    return {
      spelling: this.spelling,
      incarnation: this.incarnation,
      head: this.head,
      app: this.app,
      boundApp: this.boundApp,
      owner: this.owner,
      epoch: this.epoch,
      isProcessing: this.isProcessing,
      streaming: this.streaming,
      pendingActions: this.pendingActions,
    };
  }

  get head(): number {
    return this.#snapshot.fields.head;
  }

  get isProcessing(): boolean {
    return this.#snapshot.fields.status === "processing";
  }

  get model(): string {
    return this.#snapshot.fields.model;
  }

  get app(): string {
    return this.#snapshot.fields.app;
  }

  /** The App that a chat has bound the session to; `null` before its first chat. */
  get boundApp(): string | null {
    return this.isEmpty && this.app === DEFAULT_APP ? null : this.app;
  }

  /** Pseudonym of the owner, or `null`. */
  get owner(): string | null {
    return this.#owner;
  }

  /** Returns true if a request with this access may use the session and does not become its owner. */
  isOpenTo(access: SessionAccess): boolean {
    if (this.#owner === null && access.apps === null) return access.user === null || !this.isEmpty;
    if (this.#owner === null && access.user !== null && this.isEmpty) return false;
    return hiddenFrom({ app: this.boundApp, owner: this.#owner }, access) === null;
  }

  /** Returns true if merging this user state would change nothing. */
  has(userState: JsonObject): boolean {
    const { userState: known } = this.#snapshot.fields;
    return mergeUserState(known, userState) === known;
  }

  /** True if this incarnation was deleted. */
  get isGone(): boolean {
    return this.#ended;
  }

  /** True if this object fell behind its log and another one replaces it. */
  get isReplaced(): boolean {
    return this.#replaced;
  }

  /** Returns true if the store certainly recorded the session's use within the last `USE_RECORDED_MS`. */
  isUseNoted(clock: Pick<Clock, "now" | "monotonic">): boolean {
    const noted = this.#useNotedAt;
    if (noted === null || clock.monotonic() - noted.monotonic >= USE_RECORDED_MS) return false;
    return clock.now() - noted.wall < USE_RECORDED_MS;
  }

  /** Records the use. `usedAt` is a time before the request to the store. */
  noteUse(usedAt: Moment): void {
    if (this.#useNotedAt === null || usedAt.monotonic > this.#useNotedAt.monotonic) this.#useNotedAt = usedAt;
  }

  /** The newest known epoch; deltas of older ones are ignored. */
  get epoch(): number {
    return this.#epoch;
  }

  noteEpoch(epoch: number): void {
    this.#epoch = Math.max(this.#epoch, epoch);
  }

  /** True while an agent message is streaming. */
  get isStreaming(): boolean {
    return this.#snapshot.streaming() !== null;
  }

  /** Oldest first. */
  get pendingActions(): readonly PendingAction[] {
    return this.#snapshot.pendingActions;
  }

  get hasPendingActions(): boolean {
    return this.#snapshot.hasPendingActions;
  }

  /** Returns true if a decision is pending that an event after this number requested. */
  hasRequestAfter(head: number): boolean {
    return this.hasPendingActions && this.#lastRequest > head;
  }

  get hasWaiters(): boolean {
    return this.#waiters.size > 0;
  }

  get weight(): number {
    return this.#snapshot.weight;
  }

  /** As in `Snapshot`. */
  view(range: MessageRange | null = null): SnapshotView {
    return this.#snapshot.view(range);
  }

  /** The streaming agent message with its whole text. */
  get streaming(): StreamingText | null {
    const answer = this.#snapshot.streaming();
    return answer === null ? null : { messageId: answer.message.id, text: answer.message.content, answer };
  }

  get streamingText(): string {
    return this.streaming?.text ?? "";
  }

  /** Mark of the text that was read from the store for a turn in another process; `null` before a read. */
  get textMark(): string | null {
    return this.#textMark;
  }

  /** True if events are buffered behind missing ones. */
  get isBehind(): boolean {
    return this.#early.size > 0;
  }

  /** Replaces the text of the current step with one from the store. */
  showStreamed(text: string, mark: string): void {
    this.#textMark = mark;
    this.#stepLength = null;
    this.#showStep(text);
  }

  /**
   * Applies committed events in order; skips known ones and buffers early ones. Returns false if the events
   * do not fit: this object is then invalid and the session must be reloaded.
   */
  apply(events: readonly NumberedEvent[]): boolean {
    for (const event of events) if (event.number > this.head) this.#early.set(event.number, event);
    const { head } = this;
    for (let next = this.#takeNext(); next !== null; next = this.#takeNext()) {
      if (!this.#applyOne(next)) return false;
      this.#snapshot.set({ head: next.number });
    }
    if (this.#early.size > MAX_EARLY) return false;
    if (!this.isProcessing || this.hasRequestAfter(head)) this.#releaseWaiters();
    return true;
  }

  /**
   * Stops publishing text of the answer until the returned function is called. An interrupt that commits the current text
   * must not retract newer text. If the answer continues, the next `grow` returns the whole text of the step.
   */
  freezeText(): () => void {
    this.#freezes += 1;
    return () => void (this.#freezes -= 1);
  }

  /**
   * Adds `delta` to the current step, whose text so far is `before`. Returns the change for subscribers: the
   * whole text of the step if the session was loaded in the middle of it, or `null` if the message does not
   * stream, its text is frozen or earlier events are missing.
   */
  grow(messageId: string, before: string, delta: string): Growth | null {
    if (this.isBehind || this.#freezes > 0) {
      this.#stepLength = null;
      return null;
    }
    const message = this.#snapshot.streaming()?.message;
    if (message?.id !== messageId) return null;
    // False for the first text of a step, and after a load in the middle of one.
    const continuesStep = this.#stepLength === before.length;
    const shown = continuesStep ? message.content : this.#finished;
    const added = continuesStep ? delta : before + delta;
    const offset = shown.length;
    // A blank line separates the steps.
    const text = offset === this.#finished.length ? joinStepText(this.#finished, added).slice(offset) : added;
    this.#snapshot.replaceMessage({ ...message, content: shown + text });
    this.#stepLength = before.length + delta.length;
    return { messageId, offset, text };
  }

  /** Ends a deleted incarnation and all waits for it. */
  end(): void {
    this.#ended = true;
    this.#releaseWaiters();
  }

  /** Marks this object as replaced and ends all waits, which continue on the new object. */
  replace(): void {
    this.#replaced = true;
    this.#releaseWaiters();
  }

  /**
   * Resolves when the session stops processing, requests a decision by an event after `head`, is deleted or
   * replaced, or when the signal aborts. The decision may have been made in the meantime. Never rejects.
   */
  async untilIdleOrAsking(head: number, signal: AbortSignal): Promise<void> {
    if (!this.isProcessing || this.hasRequestAfter(head) || this.#ended || this.#replaced || signal.aborted)
      return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiters.add(resolve);
    signal.addEventListener("abort", () => resolve(), { once: true });
    await promise;
    this.#waiters.delete(resolve);
  }

  #takeNext(): NumberedEvent | null {
    const next = this.#early.get(this.head + 1) ?? null;
    if (next !== null) this.#early.delete(next.number);
    return next;
  }

  #applyOne({ number, event }: NumberedEvent): boolean {
    switch (event.type) {
      case "title_changed":
        this.#snapshot.set({ title: event.new_title });
        return true;
      case "state_changed": {
        const { status, model, app, user_state: userState } = event;
        this.#snapshot.set({ status, model, app, userState });
        return true;
      }
      case "system_event":
        this.#snapshot.addSystemEvent(event.item);
        this.#followAction(number, event.item);
        return true;
      case "action_claimed":
        this.#snapshot.claimPendingAction(event.id, event.claim_expires_at);
        return true;
      case "message_created":
        this.isEmpty = false;
        this.#snapshot.addMessage(event.message);
        this.#finishStep(event.message);
        return true;
      case "message_updated":
      case "message_completed":
        this.#finishStep(event.message);
        return this.#snapshot.replaceMessage(event.message);
      case "messages_removed":
        return this.#snapshot.removeFrom(event.from);
      case "owner_changed":
        this.#owner = event.owner;
        return true;
      case "tool_update":
      case "tool_complete":
      case "system_notice":
        return true;
      case "messages_copied":
        // The event does not contain the copied messages, so the session must be reloaded.
        return false;
      default:
        event satisfies never;
        return false;
    }
  }

  /** Stores the committed text of a streaming answer. */
  #finishStep({ status, content }: Message): void {
    if (status !== "streaming") return;
    this.#finished = content;
    // The next step may have the same length as this one, and thus the same mark.
    this.#textMark = null;
  }

  #showStep(text: string): void {
    const message = this.#snapshot.streaming()?.message;
    if (message === undefined) return;
    this.#snapshot.replaceMessage({ ...message, content: joinStepText(this.#finished, text) });
  }

  #followAction(number: number, { type, payload }: SystemEvent): void {
    // `SessionDraft` creates the payloads of these events.
    if (type === "action_requested") {
      this.#snapshot.addPendingAction(payload as PendingAction);
      this.#lastRequest = number;
    }
    if (type === "action_resolved") this.#snapshot.removePendingAction((payload as ResolvedAction).id);
  }

  #releaseWaiters(): void {
    for (const release of this.#waiters) release();
    this.#waiters.clear();
  }
}

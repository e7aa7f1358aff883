// The one live object of a session: the fold of its committed events, and the text that streams at this moment.

import type { PendingAction, ResolvedAction, SystemEvent } from "@colloquy/protocol";
import { toPendingAction } from "../core/action.ts";
import type { StoredSession } from "../core/ports/session-store.ts";
import type { SnapshotView } from "../core/ports/services.ts";
import { joinStepText, toWireMessage } from "../core/message.ts";
import type { NumberedEvent } from "../core/session-event.ts";
import { appOf } from "../core/session.ts";
import { Snapshot } from "./snapshot.ts";

const MAX_EARLY = 1000;

/** Text of an agent message that streams. */
export interface StreamingText {
  readonly messageId: string;
  readonly text: string;
}

export class Session {
  readonly id: string;
  readonly life: string;
  /** The store's key of this life. */
  readonly key: number;
  readonly #snapshot: Snapshot;
  /** Text of the running turn's finished steps; what streams now follows it. */
  #committedText = "";
  /** Characters that the running turn had said of its step when that grew here last; `null` before it did. */
  #said: number | null = null;
  /** Events that arrived before the ones that come first. */
  readonly #early = new Map<number, NumberedEvent>();
  readonly #settledWaiters = new Set<() => void>();
  #ended = false;
  #replaced = false;
  #useNotedAt: number;
  /** Whether nothing but the session itself exists: such sessions leave memory first. */
  isEmpty: boolean;

  constructor(stored: StoredSession) {
    const { session } = stored;
    this.id = session.id;
    this.life = session.life;
    this.key = session.key;
    // Loading a session need not have noted its use (a chat that was rejected writes nothing); its last change surely has.
    this.#useNotedAt = session.updatedAt;
    this.isEmpty = session.messageCount === 0;
    this.#snapshot = new Snapshot({
      sessionId: session.id,
      life: session.life,
      title: session.title,
      status: session.status,
      model: session.model,
      app: appOf(session),
      userState: session.userState,
      head: session.head,
    });
    for (const message of stored.messages) this.#snapshot.addMessage(toWireMessage(message));
    for (const { item } of stored.systemEvents) this.#snapshot.addSystemEvent(item);
    for (const action of stored.pendingActions) this.#snapshot.addPendingAction(toPendingAction(action));
    this.#resumeText(stored.checkpointed);
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

  /** Whether this life of the session is over. */
  get isGone(): boolean {
    return this.#ended;
  }

  /** Whether this object fell behind what was committed and is no longer the live one. */
  get isReplaced(): boolean {
    return this.#replaced;
  }

  /** When its use was surely noted in the store last, in milliseconds since the epoch. */
  get useNotedAt(): number {
    return this.#useNotedAt;
  }

  noteUse(at: number): void {
    this.#useNotedAt = Math.max(this.#useNotedAt, at);
  }

  /** Whether an agent message grows here. */
  get isStreaming(): boolean {
    return this.#snapshot.streamingMessage() !== null;
  }

  /** Whether a person is asked something. */
  get hasPendingActions(): boolean {
    return this.#snapshot.hasPendingActions;
  }

  get hasWaiters(): boolean {
    return this.#settledWaiters.size > 0;
  }

  get weight(): number {
    return this.#snapshot.weight;
  }

  view(): SnapshotView {
    return this.#snapshot.view();
  }

  /** The agent message that streams now, with its whole text. */
  get streaming(): StreamingText | null {
    const message = this.#snapshot.streamingMessage();
    return message === null ? null : { messageId: message.id, text: message.content };
  }

  get streamingText(): string {
    return this.streaming?.text ?? "";
  }

  /**
   * Applies committed events in order; those it has already are passed over, those that come too early wait for the ones before them.
   * Answers `false`, with this object void, when they do not fit: the session must be loaded again.
   */
  apply(events: readonly NumberedEvent[]): boolean {
    for (const event of events) if (event.number > this.head) this.#early.set(event.number, event);
    for (let next = this.#takeNext(); next !== null; next = this.#takeNext()) {
      if (!this.#applyOne(next)) return false;
      this.#snapshot.set({ head: next.number });
    }
    if (this.#early.size > MAX_EARLY) return false;
    if (!this.isProcessing) this.#releaseWaiters();
    return true;
  }

  /**
   * Text that the model adds to `before`, which it has said of the current step so far. Answers what readers are to be sent: where
   * something else was shown, because the session was loaded in the middle of the step, that is all of the step's text.
   */
  grow(before: string, delta: string): (StreamingText & { readonly offset: number }) | null {
    const message = this.#snapshot.streamingMessage();
    if (message === null) return null;
    const goesOn = this.#said === before.length;
    const shown = goesOn ? message.content : this.#committedText;
    const added = goesOn ? delta : before + delta;
    const offset = shown.length;
    // The step's first text is set apart from that of the steps before.
    const text =
      offset === this.#committedText.length ? joinStepText(this.#committedText, added).slice(offset) : added;
    this.#snapshot.replaceMessage({ ...message, content: shown + text });
    this.#said = before.length + delta.length;
    return { messageId: message.id, offset, text };
  }

  /** The session was deleted: nobody waits for it any longer. */
  end(): void {
    this.#ended = true;
    this.#releaseWaiters();
  }

  /** Another object takes this one's place: whoever waits here has to look for that one. */
  replace(): void {
    this.#replaced = true;
    this.#releaseWaiters();
  }

  /** Resolves when the session is not processing, is gone or replaced, or when the signal is aborted. Never rejects. */
  async settled(signal: AbortSignal): Promise<void> {
    if (!this.isProcessing || this.#ended || this.#replaced || signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#settledWaiters.add(resolve);
    signal.addEventListener("abort", () => resolve(), { once: true });
    await promise;
    this.#settledWaiters.delete(resolve);
  }

  #takeNext(): NumberedEvent | null {
    const next = this.#early.get(this.head + 1) ?? null;
    if (next !== null) this.#early.delete(next.number);
    return next;
  }

  #applyOne({ event }: NumberedEvent): boolean {
    switch (event.type) {
      case "title_changed":
        this.#snapshot.set({ title: event.new_title });
        return true;
      case "state_changed":
        this.#snapshot.set({
          status: event.status,
          model: event.model,
          app: event.app,
          userState: event.user_state,
        });
        return true;
      case "system_event":
        this.#snapshot.addSystemEvent(event.item);
        this.#followAction(event.item);
        return true;
      case "message_created":
        this.isEmpty = false;
        this.#snapshot.addMessage(event.message);
        if (event.message.status === "streaming") this.#committedText = event.message.content;
        return true;
      case "message_updated":
      case "message_completed":
        if (event.message.status === "streaming") this.#committedText = event.message.content;
        return this.#snapshot.replaceMessage(event.message);
      case "tool_update":
      case "tool_complete":
      case "system_notice":
        return true;
    }
  }

  #followAction({ type, payload }: SystemEvent): void {
    // The payloads are what `SessionDraft` puts into events of these types.
    if (type === "action_requested") this.#snapshot.addPendingAction(payload as PendingAction);
    if (type === "action_resolved") this.#snapshot.removePendingAction((payload as ResolvedAction).id);
  }

  /** After a crash, until its turn is claimed again, an answer shows what the store has of it beyond its finished steps. */
  #resumeText(checkpointed: string): void {
    const message = this.#snapshot.streamingMessage();
    if (message === null) return;
    this.#committedText = message.content;
    this.#snapshot.replaceMessage({ ...message, content: joinStepText(message.content, checkpointed) });
  }

  #releaseWaiters(): void {
    for (const release of this.#settledWaiters) release();
    this.#settledWaiters.clear();
  }
}

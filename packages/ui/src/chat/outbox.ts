// Tracks messages in flight from a composer to the service. If the user leaves the conversation, an unsent
// message becomes its draft and the failure is reported. After a reload, messages are sent again under their
// idempotency keys, so that each is stored once. Messages that the service rejects become drafts.

import type { KeyValueStore } from "../service/tab-storage.ts";
import { loadDraft, saveDraft } from "./drafts.ts";
import { failureOfMessage, type Failure, type PerhapsSent } from "./failure.ts";
import { canSendAgain, storeOutgoing, loadOutgoing, type Outgoing, type Message } from "./outbox-messages.ts";
import { UnsentTexts } from "./outbox-texts.ts";

/** A failure in a conversation that was not open. */
export interface Missed {
  readonly number: number;
  readonly sessionId: string | null;
  readonly failure: Failure;
}

export interface OutboxState {
  readonly outgoing: readonly Outgoing[];
  readonly missed: readonly Missed[];
}

/** Inserts the unsent text into the current one. */
export type GiveBack = (written: string) => string;

/** An open conversation. */
export interface Conversation {
  /**
   * Called with a failure. `giveBack` inserts the unsent `text` into the composer's; `null` if that has already
   * happened.
   */
  failed(failure: Failure, giveBack: GiveBack | null, text?: string): void;
  /** Called when the message with this number was sent. */
  sent(number: number): void;
}

/** Stored messages of a session to remember: more than a person sends before a failure is shown. */
const REMEMBERED = 50;

/** The outbox of a page. Fits `useSyncExternalStore`. */
export class Outbox {
  readonly #storage: KeyValueStore;
  readonly #now: () => number;
  readonly #listeners = new Set<() => void>();
  readonly #open = new Map<string | null, Conversation>();
  readonly #texts = new UnsentTexts();
  /** Messages from this page that the service has stored, by session. */
  readonly #stored = new Map<string, readonly PerhapsSent[]>();
  #state: OutboxState;
  /** Messages of the page before the reload that have not been sent again yet. */
  #left: readonly Outgoing[];
  #count: number;

  constructor(storage: KeyValueStore, now = Date.now) {
    this.#storage = storage;
    this.#now = now;
    this.#left = loadOutgoing(storage);
    this.#count = this.#left.length;
    this.#state = { outgoing: this.#left, missed: [] };
  }

  readonly getSnapshot = (): OutboxState => this.#state;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  /** Tracks a message in flight until `sent` settles. */
  track(message: Message, sent: Promise<unknown>): void {
    this.#count += 1;
    const one = { ...message, number: this.#count, at: this.#now(), isAgain: false };
    // Sending has cleared the composer.
    this.#texts.forget(message.sessionId);
    this.#leave([...this.#state.outgoing, one]);
    this.#follow(one, sent);
  }

  /**
   * Sends the previous page's messages again, one after another within a conversation. Later calls do
   * nothing.
   */
  sendAgain(send: (message: Message) => Promise<unknown>): void {
    const work = new Map<string, Promise<unknown>>();
    const left = this.#left;
    this.#left = [];
    for (const one of left) {
      const before = work.get(one.to) ?? Promise.resolve();
      const sent = before
        .catch(() => undefined)
        .then(async () => {
          if (!canSendAgain(one, this.#now())) throw new Error("It was sent too long ago to be retried.");
          await send(one);
        });
      work.set(one.to, sent);
      this.#follow(one, sent);
    }
  }

  /** Returns the messages to a session that are in flight or stored, except those with a failure. */
  sentTo(sessionId: string): readonly PerhapsSent[] {
    const outgoing = this.#state.outgoing.filter(({ to }) => to === sessionId);
    return [...(this.#stored.get(sessionId) ?? []), ...outgoing];
  }

  /** Records messages to a session that were found to be stored. */
  found(sessionId: string, messages: readonly PerhapsSent[]): void {
    const known = [
      ...(this.#stored.get(sessionId) ?? []),
      ...messages.map(({ text, after }) => ({ text, ...(after !== undefined && { after }) })),
    ];
    this.#stored.set(sessionId, known.slice(-REMEMBERED));
  }

  /** Reports a failure to the open conversation, or keeps it until the conversation is opened. */
  report(sessionId: string | null, failure: Failure): void {
    const conversation = this.#open.get(sessionId);
    if (conversation !== undefined) return conversation.failed(failure, null);
    this.#count += 1;
    const missed = [...this.#state.missed, { number: this.#count, sessionId, failure }];
    this.#set({ missed });
  }

  /**
   * Subscribes an open conversation and reports all missed failures. Returns a function that unsubscribes.
   */
  openConversation(sessionId: string | null, conversation: Conversation): () => void {
    this.#open.set(sessionId, conversation);
    const isOfHere = (one: Missed): boolean => one.sessionId === sessionId;
    const missed = this.#state.missed.filter(isOfHere);
    if (missed.length > 0) this.#set({ missed: this.#state.missed.filter((one) => !isOfHere(one)) });
    for (const { failure } of missed) conversation.failed(failure, null);
    return () => {
      if (this.#open.get(sessionId) === conversation) this.#open.delete(sessionId);
    };
  }

  /** Removes a failure once dismissed. */
  dismiss(number: number): void {
    this.#set({ missed: this.#state.missed.filter((one) => one.number !== number) });
  }

  #follow(one: Outgoing, sent: Promise<unknown>): void {
    const isGone = (): void =>
      this.#leave(this.#state.outgoing.filter(({ number }) => number !== one.number));
    const isSent = (): void => {
      this.found(one.to, [one]);
      isGone();
      this.#open.get(one.sessionId)?.sent(one.number);
    };
    sent.then(isSent, async (error: unknown) => {
      // assistant-ui itself restores the text after this, if it can.
      await new Promise((resolve) => setTimeout(resolve, 0));
      this.#giveBack(one, { ...failureOfMessage(error, one), newestMessage: this.#count });
      isGone();
    });
  }

  #giveBack(one: Outgoing, failure: Failure): void {
    const { sessionId } = one;
    const giveBack = (written: string): string => this.#texts.placed(sessionId, one, written);
    const conversation = this.#open.get(sessionId);
    if (conversation !== undefined) return conversation.failed(failure, giveBack, one.text);
    saveDraft(this.#storage, sessionId, giveBack(loadDraft(this.#storage, sessionId)));
    this.report(sessionId, failure);
  }

  #leave(outgoing: readonly Outgoing[]): void {
    this.#set({ outgoing });
    storeOutgoing(this.#storage, outgoing);
  }

  #set(changes: Partial<OutboxState>): void {
    this.#state = { ...this.#state, ...changes };
    for (const listener of this.#listeners) listener();
  }
}

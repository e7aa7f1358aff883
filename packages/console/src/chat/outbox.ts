// Messages between a composer and the service. A person may go elsewhere meanwhile: what was not sent then stands in the draft of its
// conversation, and they are told. They may load the page again: then it is sent again under the key that it has, so that it is kept once
// whether it had arrived or not, and only what the service does not take then is a draft.

import type { Kept } from "../connection/tab-storage.ts";
import { loadDraft, saveDraft } from "./drafts.ts";
import { failureOfMessage, type Failure } from "./failure.ts";
import { isHarmlessAgain, keepLeaving, loadLeaving, type Leaving, type Message } from "./outbox-messages.ts";
import { UnsentTexts } from "./outbox-texts.ts";

/** Something that went wrong in a conversation that nobody looked at. */
export interface Missed {
  readonly number: number;
  readonly sessionId: string | null;
  readonly failure: Failure;
}

export interface OutboxState {
  readonly leaving: readonly Leaving[];
  readonly missed: readonly Missed[];
}

/** Answers what is written with what was not sent in its place. */
export type GiveBack = (written: string) => string;

/** Hears what went wrong; what was not sent goes back to the composer with `giveBack`, `null` where that has happened. */
export type Hearer = (failure: Failure, giveBack: GiveBack | null) => void;

/** One for the page. Fits `useSyncExternalStore`. */
export class Outbox {
  readonly #storage: Kept;
  readonly #now: () => number;
  readonly #listeners = new Set<() => void>();
  readonly #hearers = new Map<string | null, Hearer>();
  readonly #texts = new UnsentTexts();
  #state: OutboxState;
  /** Those of the page before this one, until they are sent again. */
  #left: readonly Leaving[];
  #count: number;

  constructor(storage: Kept, now = Date.now) {
    this.#storage = storage;
    this.#now = now;
    this.#left = loadLeaving(storage);
    this.#count = this.#left.length;
    this.#state = { leaving: this.#left, missed: [] };
  }

  readonly getSnapshot = (): OutboxState => this.#state;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  /** Takes note of a message that is on its way until `sent` settles. */
  hand(message: Message, sent: Promise<unknown>): void {
    this.#count += 1;
    const one = { ...message, number: this.#count, at: this.#now(), isAgain: false };
    // Its writer has seen what stood in the composer, and that is empty now.
    this.#texts.forget(message.sessionId);
    this.#leave([...this.#state.leaving, one]);
    this.#follow(one, sent);
  }

  /** Sends what the page before this one was sending, those of a conversation one after the other. Once: after that there is nothing left. */
  sendAgain(send: (message: Message) => Promise<unknown>): void {
    const work = new Map<string, Promise<unknown>>();
    const left = this.#left;
    this.#left = [];
    for (const one of left) {
      const before = work.get(one.to) ?? Promise.resolve();
      const sent = before
        .catch(() => undefined)
        .then(async () => {
          if (!isHarmlessAgain(one, this.#now())) throw new Error("It left too long ago to be sent again.");
          await send(one);
        });
      work.set(one.to, sent);
      this.#follow(one, sent);
    }
  }

  /** Has whoever is at this conversation hear of it, or keeps it until somebody is. */
  tell(sessionId: string | null, failure: Failure): void {
    const hearer = this.#hearers.get(sessionId);
    if (hearer !== undefined) return hearer(failure, null);
    this.#count += 1;
    const missed = [...this.#state.missed, { number: this.#count, sessionId, failure }];
    this.#set({ missed });
  }

  /** Somebody is at the conversation from now on, and hears all that they have missed. Answers what ends this. */
  attend(sessionId: string | null, hearer: Hearer): () => void {
    this.#hearers.set(sessionId, hearer);
    const isOfHere = (one: Missed): boolean => one.sessionId === sessionId;
    const missed = this.#state.missed.filter(isOfHere);
    if (missed.length > 0) this.#set({ missed: this.#state.missed.filter((one) => !isOfHere(one)) });
    for (const { failure } of missed) hearer(failure, null);
    return () => {
      if (this.#hearers.get(sessionId) === hearer) this.#hearers.delete(sessionId);
    };
  }

  /** It was read. */
  dismiss(number: number): void {
    this.#set({ missed: this.#state.missed.filter((one) => one.number !== number) });
  }

  #follow(one: Leaving, sent: Promise<unknown>): void {
    const isGone = (): void => this.#leave(this.#state.leaving.filter(({ number }) => number !== one.number));
    sent.then(isGone, async (error: unknown) => {
      // assistant-ui takes a message back by itself, where it can, right after this.
      await new Promise((resolve) => setTimeout(resolve, 0));
      this.#giveBack(one, failureOfMessage(error, one));
      isGone();
    });
  }

  #giveBack(one: Leaving, failure: Failure): void {
    const { sessionId } = one;
    const giveBack = (written: string): string => this.#texts.placed(sessionId, one, written);
    const hearer = this.#hearers.get(sessionId);
    if (hearer !== undefined) return hearer(failure, giveBack);
    saveDraft(this.#storage, sessionId, giveBack(loadDraft(this.#storage, sessionId)));
    this.tell(sessionId, failure);
  }

  #leave(leaving: readonly Leaving[]): void {
    this.#set({ leaving });
    keepLeaving(this.#storage, leaving);
  }

  #set(changes: Partial<OutboxState>): void {
    this.#state = { ...this.#state, ...changes };
    for (const listener of this.#listeners) listener();
  }
}

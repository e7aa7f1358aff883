// Messages between a composer and the service. A person may go elsewhere meanwhile, or load the page again: what was not sent then stands in
// the draft of its conversation, and they are told.

import type { Kept } from "../connection/tab-storage.ts";
import { isDraft, loadDraft, saveDraft } from "./drafts.ts";
import { failureOf, type Failure } from "./failure.ts";

export interface Leaving {
  readonly number: number;
  /** `null` for a conversation that has not begun. */
  readonly sessionId: string | null;
  readonly text: string;
}

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

/** Hears what went wrong; `text` is what was not sent and goes back to the composer, `null` where that has happened. */
export type Hearer = (failure: Failure, text: string | null) => void;

const ENTRY = "colloquy.leaving";

/** One for the page. Fits `useSyncExternalStore`. */
export class Outbox {
  readonly #storage: Kept;
  readonly #listeners = new Set<() => void>();
  readonly #hearers = new Map<string | null, Hearer>();
  #state: OutboxState = { leaving: [], missed: [] };
  #count = 0;

  constructor(storage: Kept) {
    this.#storage = storage;
    this.#takeUp();
  }

  readonly getSnapshot = (): OutboxState => this.#state;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  /** Takes note of a message that is on its way until `sent` settles. */
  hand(sessionId: string | null, text: string, sent: Promise<unknown>): void {
    this.#count += 1;
    const number = this.#count;
    this.#leave([...this.#state.leaving, { number, sessionId, text }]);
    const arrived = (): void => this.#leave(this.#state.leaving.filter((one) => one.number !== number));
    sent.then(arrived, async (error: unknown) => {
      // assistant-ui takes a message back by itself, where it can, right after this.
      await new Promise((resolve) => setTimeout(resolve, 0));
      const hearer = this.#hearers.get(sessionId);
      if (hearer !== undefined) hearer(failureOf("Your message was not sent", error), text);
      else {
        this.#intoDraft(sessionId, text);
        this.tell(sessionId, failureOf("Your message was not sent", error));
      }
      arrived();
    });
  }

  /** Has whoever is at this conversation hear of it, or keeps it until somebody is. */
  tell(sessionId: string | null, failure: Failure): void {
    const hearer = this.#hearers.get(sessionId);
    if (hearer !== undefined) return hearer(failure, null);
    this.#count += 1;
    const missed = [...this.#state.missed, { number: this.#count, sessionId, failure }];
    this.#set({ missed });
  }

  /** Somebody is at the conversation from now on, and hears what they have missed. Answers what ends this. */
  attend(sessionId: string | null, hearer: Hearer): () => void {
    this.#hearers.set(sessionId, hearer);
    const missed = this.#state.missed.findLast((one) => one.sessionId === sessionId);
    if (missed !== undefined) {
      this.#set({ missed: this.#state.missed.filter((one) => one.sessionId !== sessionId) });
      hearer(missed.failure, null);
    }
    return () => {
      if (this.#hearers.get(sessionId) === hearer) this.#hearers.delete(sessionId);
    };
  }

  /** It was read. */
  dismiss(number: number): void {
    this.#set({ missed: this.#state.missed.filter((one) => one.number !== number) });
  }

  /** What the page before this one in the tab was sending when it went: nobody knows whether it arrived. */
  #takeUp(): void {
    try {
      const left: unknown = JSON.parse(this.#storage.getItem(ENTRY) ?? "[]");
      for (const one of Array.isArray(left) ? left.toReversed() : [])
        if (isDraft(one)) this.#intoDraft(one.sessionId, one.text);
      this.#storage.removeItem(ENTRY);
    } catch {
      // Nothing may be kept here, or something else stands there.
    }
  }

  #intoDraft(sessionId: string | null, text: string): void {
    saveDraft(this.#storage, sessionId, withUnsent(text, loadDraft(this.#storage, sessionId)));
  }

  #leave(leaving: readonly Leaving[]): void {
    this.#set({ leaving });
    try {
      if (leaving.length === 0) this.#storage.removeItem(ENTRY);
      else this.#storage.setItem(ENTRY, JSON.stringify(leaving));
    } catch {
      // Full or forbidden: then it lasts as long as the page.
    }
  }

  #set(changes: Partial<OutboxState>): void {
    this.#state = { ...this.#state, ...changes };
    for (const listener of this.#listeners) listener();
  }
}

/** What was not sent before what is being written by now; once, where it has been given back already. */
export function withUnsent(text: string, written: string): string {
  return written === "" || written === text ? text : `${text}\n\n${written}`;
}

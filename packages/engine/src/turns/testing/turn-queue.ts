// A fake turn store for dispatcher tests. Every transaction waits until the test commits it, so a test
// controls what happens between a request and its answer. Transactions run in request order, as in a real
// store.

import type { ChatOutcome } from "../../core/commands/chat.ts";
import type { ClaimTurns } from "../../core/commands/claim-turn.ts";
import { providerOf, type StartedTurn } from "../../core/turn.ts";
import type { Committed } from "../../core/ports/driven/session-store.ts";
import type { TurnStore } from "../../core/ports/driven/store.ts";
import { newSession } from "../../core/session.ts";
import type { Reservation } from "../dispatcher.ts";
import { acceptedChat, startedTurn } from "./started-turn.ts";

export interface QueuedTurn {
  /** Number of the chat, counted from 1. */
  readonly number: number;
  readonly provider: string;
  /** Number of chats when it started waiting. */
  readonly since: number;
}

type Claimed = readonly Committed<StartedTurn | null>[];

export class TurnQueue implements Pick<TurnStore, "countWaiting" | "releaseDeadLeases" | "handBack"> {
  readonly waiting: QueuedTurn[] = [];
  /** Arguments of `releaseDeadLeases`. */
  readonly releasedFor: (string | null)[] = [];
  /** Epochs of handed back turns. */
  readonly handedBack: number[] = [];
  /** Waiting turns beyond the free slots that a chat overtook by starting at once. */
  readonly overtaken: QueuedTurn[] = [];
  /** Free slots. */
  #slots: number;
  /** Requested, uncommitted transactions. */
  readonly #asked: (() => void)[] = [];
  #chats = 0;
  #epoch = 0;
  /** Number of upcoming `executeEach` or `handBack` calls that fail. */
  failures = 0;

  constructor(slots: number) {
    this.#slots = slots;
  }

  get pending(): number {
    return this.#asked.length;
  }

  executeEach({ agentMessageIds: ids, fullProviders }: ClaimTurns): Promise<Claimed> {
    return this.#ask(() => {
      if (this.failures > 0) {
        this.failures -= 1;
        throw new Error("The disk is gone");
      }
      const claimable = this.waiting.filter(({ provider }) => !fullProviders.includes(provider));
      return claimable.slice(0, ids.length).map((turn) => {
        this.waiting.splice(this.waiting.indexOf(turn), 1);
        return this.#committed(this.#begin(turn));
      });
    });
  }

  countWaiting(limit: number): Promise<number> {
    return this.#ask(() => Math.min(limit, this.waiting.length));
  }

  releaseDeadLeases(everyOther: string | null): Promise<number> {
    this.releasedFor.push(everyOther);
    return Promise.resolve(0);
  }

  handBack(_owner: string, epochs: readonly number[]): Promise<number> {
    if (this.failures > 0) {
      this.failures -= 1;
      return Promise.reject(new Error("The disk is gone"));
    }
    this.handedBack.push(...epochs);
    return Promise.resolve(epochs.length);
  }

  /** Runs a chat in a new session, as the conversations service does. */
  async chat({ claim, fullProviders, settle }: Reservation, provider = "p", rejected = false): Promise<void> {
    const number = (this.#chats += 1);
    const turn = { number, provider, since: number };
    let started: StartedTurn | null = null;
    let outcome: ChatOutcome | null = null;
    try {
      await this.#ask(() => {
        if (rejected) throw new Error("409");
        if (claim === null || fullProviders.includes(provider)) this.waiting.push(turn);
        else {
          started = this.#begin(turn);
          this.overtaken.push(...this.waiting.filter(({ since }) => since < number).slice(this.#slots));
        }
      });
      outcome = acceptedChat(started ?? "slot");
    } catch {
      // Rejected: no turn to run.
    } finally {
      settle(outcome);
    }
  }

  /** Frees the slot of an ended turn. */
  end(): void {
    this.#slots += 1;
  }

  /** Queues a turn with an expired lease again, as the oldest. */
  release({ number: turn, model }: StartedTurn): void {
    this.waiting.unshift({ number: turn, provider: providerOf(model), since: this.#chats });
  }

  /** Commits the oldest requested transaction and waits for its effects. */
  async commit(): Promise<void> {
    this.#asked.shift()?.();
    await rounds();
  }

  async commitAll(): Promise<void> {
    await rounds();
    while (this.pending > 0) await this.commit();
  }

  #ask<T>(transaction: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#asked.push(() => {
        try {
          resolve(transaction());
        } catch (error) {
          reject(error);
        }
      });
    });
  }

  /** Starts a turn whose number is the chat's, so that a test can identify it. */
  #begin({ number, provider }: Omit<QueuedTurn, "since">): StartedTurn {
    const epoch = (this.#epoch += 1);
    this.#slots -= 1;
    const sessionId = `session-${number}`;
    return startedTurn({ sessionId, sessionKey: number, number, epoch, model: `${provider}/m` });
  }

  #committed(outcome: StartedTurn): Committed<StartedTurn | null> {
    const birth = { incarnation: outcome.incarnation, model: outcome.model };
    const session = newSession(outcome.sessionKey, outcome.sessionId, birth, 0);
    return { outcome, session, created: false, events: [], audited: [], loaded: null };
  }
}

/** Waits until nothing more can happen without the store. */
async function rounds(): Promise<void> {
  for (let round = 0; round < 2; round += 1) await new Promise((resolve) => setImmediate(resolve));
}

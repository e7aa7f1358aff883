// The part of a store that a dispatcher sees, in which every transaction waits until a test lets it happen: so a test decides what
// comes between asking and answering. Transactions happen in the order in which they were asked for, as in the real one.

import { providerOf } from "../../core/rig.ts";
import type { Committed } from "../../core/ports/session-store.ts";
import type { TurnStore } from "../../core/ports/turn-store.ts";
import { newSession } from "../../core/session.ts";
import type { StartedTurn } from "../../core/turn.ts";
import type { Reservation } from "../dispatching.ts";
import { startedTurn } from "./started-turn.ts";

export interface QueuedTurn {
  /** Counts chats; the oldest has the lowest. */
  readonly number: number;
  readonly provider: string;
  /** How many chats there were when it began to wait. */
  readonly since: number;
}

type Claimed = readonly Committed<StartedTurn | null>[];

export class TurnQueue
  implements Pick<TurnStore, "claim" | "countWaiting" | "releaseDeadLeases" | "handBack">
{
  readonly waiting: QueuedTurn[] = [];
  /** What `releaseDeadLeases` was asked for. */
  readonly releasedFor: (string | null)[] = [];
  /** Epochs of the turns that were handed back. */
  readonly handedBack: number[] = [];
  /** What chats that started at once found waiting at that moment, beyond the places that were left then. */
  readonly overtaken: QueuedTurn[] = [];
  /** Places that running turns leave. */
  #places: number;
  /** Asked for, and not happened yet. */
  readonly #asked: (() => void)[] = [];
  #chats = 0;
  #epoch = 0;
  /** Claims that will fail, or turns handed back. */
  failures = 0;

  constructor(places: number) {
    this.#places = places;
  }

  get pending(): number {
    return this.#asked.length;
  }

  claim(_owner: string, ids: readonly string[], fullProviders: readonly string[]): Promise<Claimed> {
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

  /** A chat of a session of its own, as the conversations make it. */
  async chat({ claim, fullProviders, settle }: Reservation, provider = "p", rejected = false): Promise<void> {
    const number = (this.#chats += 1);
    const turn = { number, provider, since: number };
    let started: StartedTurn | null = null;
    let waitsFor: "a place" | null = null;
    try {
      await this.#ask(() => {
        if (rejected) throw new Error("409");
        if (claim === null || fullProviders.includes(provider)) this.waiting.push(turn);
        else {
          started = this.#begin(turn);
          this.overtaken.push(...this.waiting.filter(({ since }) => since < number).slice(this.#places));
        }
      });
      if (started === null) waitsFor = "a place";
    } catch {
      // Rejected: there is nothing to run.
    } finally {
      settle(started, waitsFor);
    }
  }

  /** A turn that was begun has ended. */
  end(): void {
    this.#places += 1;
  }

  /** A turn whose lease has run out waits again, as the oldest. */
  release({ turn, model }: StartedTurn): void {
    this.waiting.unshift({ number: turn, provider: providerOf(model), since: this.#chats });
  }

  /** Lets the oldest transaction that was asked for happen, and everything that follows from it. */
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

  /** The turn is the chat's number, so that a test can tell which one runs. */
  #begin({ number, provider }: Omit<QueuedTurn, "since">): StartedTurn {
    const epoch = (this.#epoch += 1);
    this.#places -= 1;
    const sessionId = `session-${number}`;
    return startedTurn({ sessionId, sessionKey: number, turn: number, epoch, model: `${provider}/m` });
  }

  #committed(outcome: StartedTurn): Committed<StartedTurn | null> {
    const birth = { life: outcome.life, model: outcome.model };
    const session = newSession(outcome.sessionKey, outcome.sessionId, birth, 0);
    return { outcome, session, created: false, events: [], loaded: null };
  }
}

/** Everything that can happen without the store has happened. */
async function rounds(): Promise<void> {
  for (let round = 0; round < 2; round += 1) await new Promise((resolve) => setImmediate(resolve));
}

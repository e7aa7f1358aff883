// Decides which turns run here and when: chats take a free place in their own transaction, everything else waits in the store and is
// claimed, oldest first, when a place is free. Work that arrives rings the doorbell; nobody polls.

import { randomUUID } from "node:crypto";
import type { TurnClaim } from "../core/decisions/turns.ts";
import type { Clock } from "../core/ports/clock.ts";
import type { Logger } from "../core/ports/logger.ts";
import type { Committed } from "../core/ports/session-store.ts";
import type { TurnStore } from "../core/ports/turn-store.ts";
import type { SessionRecord } from "../core/session.ts";
import type { StartedTurn } from "../core/turn.ts";
import { HOLD_MS } from "./leases.ts";
import type { RunningTurn, RunningTurns } from "./running-turns.ts";

const CLAIM_AT_ONCE = 64;
const RETRY_CLAIM_MS = 1_000;
const RECOUNT_MS = 1_000;

/** A place that a chat may start its turn in, or the reason why it has to wait. */
export interface Reservation {
  /** `null` when the turn has to wait in the store. */
  readonly claim: TurnClaim | null;
  readonly fullProviders: readonly string[];
  /** Must be called with what the transaction came to. */
  settle(started: StartedTurn | null, waits: boolean): void;
}

export interface DispatcherOptions {
  readonly store: TurnStore;
  readonly running: RunningTurns;
  readonly clock: Clock;
  readonly owner: string;
  readonly logger: Logger;
  /** Runs a turn to its end; rejects on a defect. */
  readonly run: (turn: StartedTurn, signal: AbortSignal) => Promise<void>;
  /** Applies and announces what a claim has committed. */
  readonly settle: (committed: Committed<StartedTurn | null>) => void;
  /** Turns that may wait in the store before chats are refused. */
  readonly maxWaiting: number;
}

export class Dispatcher {
  readonly #options: DispatcherOptions;
  /** Whether there may be runnable turns in the store; older ones go before new chats. */
  #backlog = true;
  #claiming = false;
  #stopped = false;
  readonly #idle: (() => void)[] = [];
  #waiting = 0;
  #countedAt = Number.NEGATIVE_INFINITY;

  constructor(options: DispatcherOptions) {
    this.#options = options;
  }

  /** Turns that wait in the store, as far as this process knows; for metrics. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Takes over what other owners left behind when this process knows that it is alone, then whatever waits. */
  async start(alone: boolean): Promise<void> {
    const { store, owner, maxWaiting } = this.#options;
    await store.releaseDeadLeases(alone ? owner : null);
    this.#waiting = await store.countWaiting(maxWaiting);
    this.ring();
  }

  /** Asks for a place for a chat's turn; taken back when the transaction does not start it. */
  reserve(): Reservation {
    const { running, clock, owner } = this.#options;
    const promised = this.#backlog || this.#stopped ? 0 : running.promise(1);
    const askedAt = clock.monotonic();
    return {
      claim: promised === 0 ? null : { owner, agentMessageId: randomUUID() },
      fullProviders: running.fullProviders(promised),
      settle: (started, waits) => {
        if (started !== null) this.#start(started, askedAt);
        else running.unpromise(promised);
        if (waits) {
          this.#waiting += 1;
          this.ring();
        }
      },
    };
  }

  /** Whether as many turns wait in the store as may. The count is exact within a second, and between counts never too low. */
  async isFull(): Promise<boolean> {
    const { store, clock, maxWaiting } = this.#options;
    if (this.#waiting < maxWaiting) return false;
    if (clock.monotonic() - this.#countedAt >= RECOUNT_MS) {
      this.#countedAt = clock.monotonic();
      this.#waiting = await store.countWaiting(maxWaiting);
    }
    return this.#waiting >= maxWaiting;
  }

  /** There may be work: claims as much as there is room for. */
  ring(): void {
    this.#backlog = true;
    if (!this.#claiming && !this.#stopped) void this.#claim();
  }

  /** A session was committed: a turn of an older epoch that runs here has lost its right to. */
  supersede(session: SessionRecord): void {
    const running = this.#options.running.ofSession(session.key);
    if (running !== null && running.turn.epoch < session.epoch) running.controller.abort();
  }

  /** A life of a session is over, and with it whatever runs for it. */
  abandon(sessionId: string, life: string): void {
    for (const { turn, controller } of this.#options.running.all()) {
      if (turn.sessionId === sessionId && turn.life === life) controller.abort();
    }
  }

  /**
   * Starts no more turns, waits up to `graceMs` for those that run, then stops them: they stay in the store as they are, and whoever
   * finds their leases run out goes on with them.
   */
  async stop(graceMs: number): Promise<void> {
    this.#stopped = true;
    const { running, clock } = this.#options;
    const idle = this.#untilIdle();
    if (graceMs > 0) {
      const enough = new AbortController();
      await Promise.race([idle, clock.sleep(graceMs, enough.signal).catch(() => undefined)]);
      enough.abort();
    }
    for (const { controller } of running.all()) controller.abort();
    await idle;
  }

  async #claim(): Promise<void> {
    const { store, running, owner, clock, logger } = this.#options;
    this.#claiming = true;
    try {
      while (this.#backlog && !this.#stopped) {
        const places = running.promise(running.limitsProviders ? 1 : CLAIM_AT_ONCE);
        if (places === 0) return;
        this.#backlog = false;
        const askedAt = clock.monotonic();
        const ids = Array.from({ length: places }, () => randomUUID());
        let claimed: readonly Committed<StartedTurn | null>[];
        try {
          claimed = await store.claim(owner, ids, running.fullProviders(places));
        } catch (error) {
          running.unpromise(places);
          throw error;
        }
        // Nothing may stand between the answer and this: one more step, and a delete that was committed behind the claim
        // would be announced before it.
        this.#take(claimed, places, askedAt);
      }
    } catch (error) {
      logger.warn({ err: error }, "waiting turns could not be claimed; trying again");
      clock.after(RETRY_CLAIM_MS, () => this.ring());
    } finally {
      this.#claiming = false;
    }
  }

  #take(claimed: readonly Committed<StartedTurn | null>[], places: number, askedAt: number): void {
    if (claimed.length === places) this.#backlog = true;
    this.#waiting = Math.max(0, this.#waiting - claimed.length);
    for (const committed of claimed) {
      this.#options.settle(committed);
      if (committed.outcome !== null) this.#start(committed.outcome, askedAt);
    }
    this.#options.running.unpromise(places - claimed.filter(({ outcome }) => outcome !== null).length);
  }

  #start(turn: StartedTurn, askedAt: number): void {
    const running: RunningTurn = { turn, controller: new AbortController(), heldUntil: askedAt + HOLD_MS };
    this.#options.running.add(running);
    if (this.#stopped) running.controller.abort();
    void this.#run(running);
  }

  async #run(running: RunningTurn): Promise<void> {
    try {
      await this.#options.run(running.turn, running.controller.signal);
    } catch (error) {
      this.#options.logger.error({ err: error, turn: running.turn.turn }, "a turn stopped on a defect");
    } finally {
      this.#options.running.remove(running);
      if (this.#backlog || this.#waiting > 0) this.ring();
      if (this.#options.running.size === 0) for (const resolve of this.#idle.splice(0)) resolve();
    }
  }

  #untilIdle(): Promise<void> {
    if (this.#options.running.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }
}

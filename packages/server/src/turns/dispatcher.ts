// Decides which turns run here and when: chats take a free place in their own transaction, everything else waits in the store and is
// claimed, oldest first, when a place is free. Work that arrives rings the doorbell; nobody polls.

import { randomUUID } from "node:crypto";
import type { Timer } from "../core/ports/clock.ts";
import type { Committed } from "../core/ports/session-store.ts";
import type { SessionRecord } from "../core/session.ts";
import type { StartedTurn } from "../core/turn.ts";
import type { DispatcherOptions, Reservation } from "./dispatching.ts";
import { handBack, HOLD_MS } from "./leases.ts";
import type { RunningTurn } from "./running-turns.ts";
import { WaitingCount } from "./waiting-count.ts";

const CLAIM_AT_ONCE = 64;
const RETRY_CLAIM_MS = 1_000;
/** How long runs may take to end that were told to stop; they hear it at once, unless there is a defect. */
const STOPPING_MS = 5_000;

export class Dispatcher {
  readonly #options: DispatcherOptions;
  /** Whether there may be runnable turns in the store that no claim under way asks for; older ones go before new chats. */
  #backlog = true;
  /** Whether work has come up here since others were told. */
  #isNews = false;
  /** Whether the last claim passed over providers that were full: their turns wait until one of them has room. */
  #passedOver = false;
  #claiming = false;
  #claimed: Promise<void> = Promise.resolve();
  /** Places that the claim under way asks for. */
  #asked = Number.POSITIVE_INFINITY;
  #retry: Timer | null = null;
  #stopped = false;
  /** Chats under way that found no place: those that come after them must not find one either. */
  #placeless = 0;
  /** Turns that the store gave to this process after the stop. */
  readonly #handedBack: Promise<void>[] = [];
  /** Epochs of turns whose run has ended since the stop, without a defect. */
  readonly #stoppedTurns: number[] = [];
  readonly #count: WaitingCount;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#count = new WaitingCount(options);
  }

  /** Turns that wait in the store, as far as this process knows; for metrics. */
  get waiting(): number {
    return this.#count.value;
  }

  /** Takes over what other owners left behind when this process knows that it is alone, then whatever waits. */
  async start(): Promise<void> {
    const { store, owner, isAlone } = this.#options;
    await store.releaseDeadLeases(isAlone ? owner : null);
    await this.#count.recount();
    this.ring();
  }

  /** Asks for a place for a chat's turn; taken back when the transaction does not start it. */
  reserve(): Reservation {
    const { running, clock, owner } = this.#options;
    const promised = this.#goesBehindOthers() ? 0 : running.promise(1);
    const askedAt = clock.monotonic();
    if (promised === 0) this.#placeless += 1;
    return {
      claim: promised === 0 ? null : { owner, agentMessageId: randomUUID() },
      fullProviders: running.fullProviders(promised),
      settle: (started, waitsFor) => {
        if (promised === 0) this.#placeless -= 1;
        if (started !== null) this.#start(started, askedAt);
        else running.unpromise(promised);
        if (waitsFor === "a place") return this.ring(1);
        // Nobody can claim it yet: whoever ends the turn before it rings.
        if (waitsFor === "its session") this.#count.add(1);
        this.#ringForRoom();
      },
    };
  }

  /** Whether as many turns wait in the store as may. */
  async isFull(): Promise<boolean> {
    return await this.#count.isFull();
  }

  /** There may be work, `arrived` turns that did not wait before among it: claims as much as there is room for. */
  ring(arrived = 0): void {
    this.#isNews = true;
    this.#count.add(arrived);
    this.look();
  }

  /** As `ring`, of work that others have told of: they need not be told of it in turn. */
  look(): void {
    this.#backlog = true;
    if (!this.#claiming && !this.#stopped && this.#retry === null) this.#claimed = this.#claim();
  }

  /** A session was committed: a turn of an older epoch that runs here has lost its right to. */
  supersede(session: SessionRecord): void {
    const running = this.#options.running.ofSession(session.key);
    if (running !== null && running.turn.epoch < session.epoch) running.controller.abort();
  }

  /** A life of a session is over, and with it whatever runs for it. */
  abandon(sessionId: string, life: string): void {
    this.#options.running.abort(sessionId, life, Number.POSITIVE_INFINITY);
  }

  /**
   * Starts no more turns, waits up to `graceMs` for those that run, then stops them and hands them back. A run that does not even end
   * then is not waited for: whoever finds its lease run out goes on with its turn.
   */
  async stop(graceMs: number): Promise<void> {
    this.#stopped = true;
    this.#retry?.stop();
    const { running, clock, logger } = this.#options;
    if (graceMs > 0) await running.untilIdle(graceMs, clock);
    for (const { controller } of running.all()) controller.abort();
    await running.untilIdle(STOPPING_MS, clock);
    if (running.size > 0) logger.error({ turns: running.size }, "turns did not stop when they were told to");
    await this.#claimed;
    await Promise.all([handBack(this.#stoppedTurns, this.#options), ...this.#handedBack]);
    this.#options.callOthers();
  }

  /** Whether a chat's turn must not start before others that wait: the claim under way may not get at all of them. */
  #goesBehindOthers(): boolean {
    if (this.#stopped || this.#backlog || this.#placeless > 0) return true;
    return this.#claiming && this.waiting > this.#asked;
  }

  /** A place or a provider has room that it had not before. */
  #ringForRoom(): void {
    if (this.#backlog || this.#passedOver) this.look();
  }

  #callOthers(): void {
    if (this.#isNews) this.#options.callOthers();
    this.#isNews = false;
  }

  async #claim(): Promise<void> {
    const { store, running, owner, clock, logger } = this.#options;
    this.#claiming = true;
    try {
      while (this.#backlog && !this.#stopped) {
        const places = running.promise(running.limitsProviders ? 1 : CLAIM_AT_ONCE);
        if (places === 0) return this.#callOthers();
        this.#backlog = false;
        this.#asked = places;
        const askedAt = clock.monotonic();
        const fullProviders = running.fullProviders(places);
        // Before the answer: a provider that gets room meanwhile must ring again.
        this.#passedOver = fullProviders.length > 0;
        const ids = Array.from({ length: places }, () => randomUUID());
        let claimed: readonly Committed<StartedTurn | null>[];
        try {
          claimed = await store.claim(owner, ids, fullProviders, this.#options.models());
        } catch (error) {
          running.unpromise(places);
          throw error;
        }
        // Nothing may stand between the answer and this: one more step, and a delete that was committed behind the claim
        // would be announced before it.
        this.#take(claimed, places, askedAt);
        this.#asked = Number.POSITIVE_INFINITY;
        if (claimed.length < places) await this.#count.correct();
      }
    } catch (error) {
      logger.warn({ err: error }, "waiting turns could not be claimed; trying again");
      this.#claimLater();
    } finally {
      this.#claiming = false;
    }
  }

  #claimLater(): void {
    this.#backlog = true;
    if (this.#stopped) return;
    this.#retry = this.#options.clock.after(RETRY_CLAIM_MS, () => {
      this.#retry = null;
      this.ring();
    });
  }

  #take(claimed: readonly Committed<StartedTurn | null>[], places: number, askedAt: number): void {
    const { running, settle, logger } = this.#options;
    const started = claimed.filter(({ outcome }) => outcome !== null).length;
    // Behind a turn that was failed instead of started, the next one of its session may start now.
    if (claimed.length === places || started < claimed.length) this.#backlog = true;
    this.#count.take(claimed.length);
    running.unpromise(places - started);
    for (const committed of claimed) {
      try {
        settle(committed);
      } catch (error) {
        // The turn is this process's own all the same, and the others of this claim too.
        logger.error({ err: error }, "a claimed turn could not be announced");
      }
      if (committed.outcome !== null) this.#start(committed.outcome, askedAt);
    }
  }

  /** Runs a turn that has a promised place. One that comes after the stop is handed back. */
  #start(turn: StartedTurn, askedAt: number): void {
    const { running } = this.#options;
    if (this.#stopped) {
      running.unpromise(1);
      this.#handedBack.push(handBack([turn.epoch], this.#options));
      return;
    }
    const started: RunningTurn = { turn, controller: new AbortController(), heldUntil: askedAt + HOLD_MS };
    running.add(started);
    void this.#run(started);
  }

  /** A turn that stops on a defect is run again when its lease has run out, and fails when that was tried often enough. */
  async #run(running: RunningTurn): Promise<void> {
    try {
      await this.#options.run(running.turn, running.controller.signal);
      if (this.#stopped) this.#stoppedTurns.push(running.turn.epoch);
    } catch (error) {
      this.#options.logger.error({ err: error, turn: running.turn.turn }, "a turn stopped on a defect");
      // It may have ended in the store before the defect, and then the next one of its session waits for this.
      this.ring();
    } finally {
      this.#options.running.remove(running);
      this.#ringForRoom();
    }
  }
}

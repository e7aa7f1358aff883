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
  /** Runnable turns in the store that no claim under way asks for, at most: without end where nobody here has counted them. */
  #unasked = Number.POSITIVE_INFINITY;
  /** Whether work has come up here since others were told. */
  #isNews = false;
  /** Whether the last claim passed over providers that were full: their turns wait until one of them has room. */
  #passedOver = false;
  #claiming = false;
  #claimed: Promise<void> = Promise.resolve();
  /** Runnable turns that the claim under way may leave, at most. */
  #left = 0;
  #retry: Timer | null = null;
  #stopped = false;
  /** Chats under way that found no place: those that come after them leave one for each. */
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
    const promised = this.#hasRoomForNew() ? running.promise(1) : 0;
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

  /**
   * There may be work: claims as much as there is room for. `arrived` turns among it did not wait before: none, where one that has waited
   * may go on; without a number nobody knows how many may. What comes to a process that stops is for others.
   */
  ring(arrived: number | null = null): void {
    this.#isNews = true;
    this.#count.add(arrived ?? 0);
    this.#expect(arrived === null ? Number.POSITIVE_INFINITY : Math.max(1, arrived));
    if (this.#stopped) this.#callOthers();
  }

  /** As `ring`, of work that others have told of: they need not be told of it in turn. */
  look(): void {
    this.#expect(Number.POSITIVE_INFINITY);
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

  /** Whether a chat's turn may start at once: not in a place that a turn needs which came before it. */
  #hasRoomForNew(): boolean {
    return !this.#stopped && this.#options.running.free > this.#unasked + this.#left + this.#placeless;
  }

  #expect(runnable: number): void {
    this.#unasked += runnable;
    if (!this.#claiming && !this.#stopped && this.#retry === null) this.#claimed = this.#claim();
  }

  /** A place or a provider has room that it had not before. */
  #ringForRoom(): void {
    if (this.#passedOver) this.look();
    else if (this.#unasked > 0) this.#expect(0);
  }

  #callOthers(): void {
    if (this.#isNews) this.#options.callOthers();
    this.#isNews = false;
  }

  async #claim(): Promise<void> {
    const { store, running, owner, clock, logger } = this.#options;
    this.#claiming = true;
    try {
      while (this.#unasked > 0 && !this.#stopped) {
        const expected = this.#unasked;
        const places = running.promise(running.limitsProviders ? 1 : Math.min(expected, CLAIM_AT_ONCE));
        if (places === 0) return this.#callOthers();
        // No more than wait at all, and the count is never too low.
        this.#left = Math.max(0, Math.min(expected, this.waiting) - places);
        this.#unasked = 0;
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
        if (claimed.length === places) this.#unasked += this.#beyond(expected - places);
        this.#left = 0;
        if (claimed.length < places) await this.#count.correct();
      }
    } catch (error) {
      logger.warn({ err: error }, "waiting turns could not be claimed; trying again");
      this.#claimLater();
    } finally {
      this.#claiming = false;
    }
  }

  /** Runnable turns beyond a claim that got all it asked for: more than expected where one before passed over providers, or others add some. */
  #beyond(expected: number): number {
    const { running, isAlone } = this.#options;
    if (running.limitsProviders) return Number.POSITIVE_INFINITY;
    return isAlone ? expected : Math.max(1, expected);
  }

  #claimLater(): void {
    this.#left = 0;
    this.#unasked = Number.POSITIVE_INFINITY;
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
    this.#unasked += claimed.length - started;
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

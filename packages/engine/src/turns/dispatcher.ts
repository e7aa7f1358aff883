// Decides which turns run in this process and when. A chat takes a free slot in its own transaction. Other
// turns wait in the store, and the dispatcher claims them, oldest first, when a slot is free. New work
// triggers a claim; on a shared store so does the event hub every two seconds, because notifications may be
// lost.

import { randomUUID } from "node:crypto";
import type { ChatOutcome } from "../core/commands/chat.ts";
import type { TurnClaim } from "../core/commands/turns.ts";
import type { AppCatalog } from "../core/ports/driven/apps.ts";
import type { Clock, Timer } from "../core/ports/driven/clock.ts";
import type { EventHub } from "../core/ports/driven/event-hub.ts";
import type { Logger } from "../core/ports/driven/logger.ts";
import type { Committed } from "../core/ports/driven/session-store.ts";
import type { CommandStore, TurnStore } from "../core/ports/driven/store.ts";
import type { StartedTurn } from "../core/turn.ts";
import type { WorkQueue } from "./journal.ts";
import { handBack, HOLD_MS } from "./leases.ts";
import type { TurnRunner } from "./run.ts";
import type { RunningTurn, RunningTurns } from "./running-turns.ts";

const CLAIM_AT_ONCE = 64;
const RETRY_CLAIM_MS = 1_000;
/** Maximum time for aborted turns to end. They end at once unless there is a defect. */
const STOPPING_MS = 5_000;

/** Minimum time between two counts of waiting turns. */
const RECOUNT_MS = 1_000;

/** State of the claims of turns. */
export type DispatcherState =
  /** No claim is in progress. */
  | "idle"
  | "claiming"
  /** The store failed; a timer starts the next claim. */
  | "backing_off"
  /** The dispatcher is stopping during a claim; it hands the claimed turns back. */
  | "stopping"
  | "stopped";

export type DispatcherTrigger =
  /** Turns may have become claimable: some arrived, or a slot became free. */
  | "work"
  /** The claim found no more turns, or no more slots. */
  | "claim_ended"
  | "claim_failed"
  | "retry_due"
  | "stop";

type Row = Readonly<Record<DispatcherTrigger, DispatcherState | "impossible">>;

const NEXT: Readonly<Record<DispatcherState, Row>> = {
  idle: {
    work: "claiming",
    claim_ended: "impossible",
    claim_failed: "impossible",
    retry_due: "impossible",
    stop: "stopped",
  },
  claiming: {
    // The claim in progress repeats until nothing is left.
    work: "claiming",
    claim_ended: "idle",
    claim_failed: "backing_off",
    retry_due: "impossible",
    stop: "stopping",
  },
  backing_off: {
    work: "backing_off",
    claim_ended: "impossible",
    claim_failed: "impossible",
    retry_due: "claiming",
    stop: "stopped",
  },
  stopping: {
    work: "stopping",
    claim_ended: "stopped",
    claim_failed: "stopped",
    retry_due: "impossible",
    stop: "stopping",
  },
  stopped: {
    work: "stopped",
    claim_ended: "impossible",
    claim_failed: "impossible",
    retry_due: "impossible",
    stop: "stopped",
  },
};

/** Returns the state after `trigger`. Throws on a transition that the table calls impossible, which is a defect. */
export function nextDispatcherState(state: DispatcherState, trigger: DispatcherTrigger): DispatcherState {
  const next = NEXT[state][trigger];
  if (next === "impossible") throw new Error(`A dispatcher that is ${state} cannot handle "${trigger}"`);
  return next;
}

/** A slot for a chat's turn, if one was free. */
export interface Reservation {
  /** `null` if the turn must wait in the store. */
  readonly claim: TurnClaim | null;
  readonly fullProviders: readonly string[];
  /**
   * Starts the chat's turn, or returns the slot. Must be called exactly once; `outcome` is `null` if the
   * transaction failed.
   */
  settle(outcome: ChatOutcome | null): void;
}

export interface DispatcherOptions {
  readonly store: TurnStore;
  readonly commands: Pick<CommandStore, "executeEach">;
  readonly running: RunningTurns;
  readonly clock: Clock;
  readonly owner: string;
  readonly logger: Logger;
  readonly runner: Pick<TurnRunner, "run">;
  readonly apps: AppCatalog;
  /** Applies and publishes the commit of a claim. */
  readonly registry: { apply(committed: Committed<StartedTurn | null>): unknown };
  readonly hub: Pick<EventHub, "notifyWork">;
  /** True if no other process takes or adds turns in the store. */
  readonly isAlone: boolean;
  /** Maximum turns waiting in the store; further chats are rejected. */
  readonly maxWaiting: number;
}

export class Dispatcher implements WorkQueue {
  readonly #options: DispatcherOptions;
  #state: DispatcherState = "idle";
  readonly #backlog = new Backlog();
  /** Resolves when the last claim has ended. */
  #claimed: Promise<void> = Promise.resolve();
  #retry: Timer | null = null;
  /** Turns acquired after the stop and being handed back. */
  readonly #handedBack: Promise<void>[] = [];
  /** Epochs of turns that ended without a defect after the stop. */
  readonly #stoppedTurns: number[] = [];
  readonly #count: WaitingCount;

  constructor(options: DispatcherOptions) {
    this.#options = options;
    this.#count = new WaitingCount(options);
  }

  /** Number of turns waiting in the store, as far as this process knows; for metrics. */
  get waiting(): number {
    return this.#count.value;
  }

  /** Releases the leases of dead owners (of all other owners if this process is alone), then claims waiting turns. */
  async start(): Promise<void> {
    const { store, owner, isAlone } = this.#options;
    await store.releaseDeadLeases(isAlone ? owner : null);
    await this.#count.recount();
    this.workArrived();
  }

  /** Reserves a slot for a chat's turn. The slot is returned unless the transaction starts the turn. */
  reserve(): Reservation {
    const { running, clock, owner } = this.#options;
    const mayStart = !this.#isStopped && this.#backlog.hasSlotForChat(running.free);
    const reserved = mayStart ? running.reserve(1) : 0;
    const claimedAt = clock.monotonic();
    if (reserved === 0) this.#backlog.chatsWithoutSlot += 1;
    return {
      claim: reserved === 0 ? null : { owner, agentMessageId: randomUUID() },
      fullProviders: running.fullProviders(),
      settle: (outcome) => {
        const accepted = outcome?.kind === "accepted" ? outcome : null;
        const started = accepted?.started ?? null;
        if (reserved === 0) this.#backlog.chatsWithoutSlot -= 1;
        if (started !== null) this.#start(started, claimedAt);
        else running.unreserve(reserved);
        if (accepted !== null && started === null) {
          if (accepted.runnable) return this.workArrived(1);
          // The turn is not claimable yet; the end of the session's previous turn triggers its claim.
          this.#count.add(1);
        }
        this.#claimFreed();
      },
    };
  }

  async isFull(): Promise<boolean> {
    return await this.#count.isFull();
  }

  /**
   * Claims turns for the free slots, and notifies other processes of those that are left. After the stop,
   * only notifies. `arrived` as in `WorkQueue`.
   */
  workArrived(arrived: number | null = null): void {
    this.#backlog.isUnannounced = true;
    this.#count.add(arrived ?? 0);
    this.#addRunnable(arrived === null ? Number.POSITIVE_INFINITY : Math.max(1, arrived));
    if (this.#isStopped) this.#notifyOthers();
  }

  /**
   * Like `workArrived`, for any number of turns that other processes have announced. Does not notify those
   * processes again.
   */
  claimAnnounced(): void {
    this.#addRunnable(Number.POSITIVE_INFINITY);
  }

  /** Aborts the turn of a deleted incarnation. */
  abandon(sessionId: string, incarnation: string): void {
    this.#options.running.abort(sessionId, incarnation, Number.POSITIVE_INFINITY);
  }

  /**
   * Starts no more turns, waits up to `graceMs` for running ones, then aborts them and hands them back. A
   * turn that ignores the abort is left to expire.
   */
  async stop(graceMs: number): Promise<void> {
    this.#transition("stop");
    const { running, clock, logger } = this.#options;
    if (graceMs > 0) await running.untilIdle(graceMs, clock);
    for (const { controller } of running.all()) controller.abort();
    await running.untilIdle(STOPPING_MS, clock);
    if (running.size > 0)
      logger.error({ turns: running.size }, "turns did not stop after the abort; their leases will expire");
    await this.#claimed;
    await Promise.all([handBack(this.#stoppedTurns, this.#options), ...this.#handedBack]);
    this.#options.hub.notifyWork();
  }

  get #isStopped(): boolean {
    return this.#state === "stopping" || this.#state === "stopped";
  }

  /** Enters the next state of the table and starts its work. */
  #transition(trigger: DispatcherTrigger): void {
    const before = this.#state;
    const next = nextDispatcherState(before, trigger);
    this.#state = next;
    if (next === before) return;
    if (before === "backing_off") this.#retry?.stop();
    if (next === "claiming") this.#claimed = this.#claim();
    if (next === "backing_off")
      this.#retry = this.#options.clock.after(RETRY_CLAIM_MS, () => {
        // Announce the turns, so that other processes may claim them.
        this.#backlog.isUnannounced = true;
        this.#transition("retry_due");
      });
  }

  /** Counts turns that may be claimable, and claims them if no claim is in progress. */
  #addRunnable(runnable: number): void {
    this.#backlog.unclaimed += runnable;
    this.#transition("work");
  }

  /** Claims again after a slot or a provider became free. */
  #claimFreed(): void {
    if (this.#backlog.skippedProviders) this.claimAnnounced();
    else if (this.#backlog.unclaimed > 0) this.#transition("work");
  }

  #notifyOthers(): void {
    if (this.#backlog.isUnannounced) this.#options.hub.notifyWork();
    this.#backlog.isUnannounced = false;
  }

  /** Claims until nothing is left, no slot is free, or the dispatcher stops. */
  async #claim(): Promise<void> {
    const { running, logger } = this.#options;
    const backlog = this.#backlog;
    try {
      while (backlog.unclaimed > 0 && this.#state === "claiming") {
        const expected = backlog.unclaimed;
        const slots = running.reserve(running.limitsProviders ? 1 : Math.min(expected, CLAIM_AT_ONCE));
        if (slots === 0) {
          this.#notifyOthers();
          break;
        }
        const claimed = await this.#claimInto(slots);
        backlog.endClaim(claimed === slots ? this.#beyond(expected - slots) : 0);
        if (claimed < slots) await this.#count.correct();
      }
    } catch (error) {
      logger.warn({ err: error }, "could not claim waiting turns; retrying");
      backlog.forget();
      this.#transition("claim_failed");
      return;
    }
    // Must run in the same tick as the last check of the loop, so that work that arrives later starts a new
    // claim.
    this.#transition("claim_ended");
  }

  /** Claims turns into reserved slots and returns how many. */
  async #claimInto(slots: number): Promise<number> {
    const { commands, running, owner, clock } = this.#options;
    const claimedAt = clock.monotonic();
    const fullProviders = running.fullProviders();
    // Read before the query, so that a provider that becomes free during the query triggers another claim.
    this.#backlog.beginClaim(slots, this.waiting, fullProviders.length > 0);
    const ids = Array.from({ length: slots }, () => randomUUID());
    let claimed: readonly Committed<StartedTurn | null>[];
    try {
      const models = this.#models();
      const claim = { kind: "claimTurns", owner, agentMessageIds: ids, fullProviders, models } as const;
      claimed = await commands.executeEach(claim);
    } catch (error) {
      running.unreserve(slots);
      throw error;
    }
    // Must run in the same tick, or a deletion committed after the claim could be announced before it.
    this.#startClaimed(claimed, slots, claimedAt);
    return claimed.length;
  }

  /**
   * Returns an upper bound of the turns that a full claim left behind; infinite if a provider was skipped or
   * other processes add turns.
   */
  #beyond(expected: number): number {
    const { running, isAlone } = this.#options;
    if (running.limitsProviders) return Number.POSITIVE_INFINITY;
    return isAlone ? expected : Math.max(1, expected);
  }

  /** Returns the models of each App, the default first. */
  #models(): Readonly<Record<string, readonly string[]>> {
    const { apps } = this.#options;
    return Object.fromEntries(apps.names().map((name) => [name, apps.get(name)?.models ?? []]));
  }

  /** Applies the commits of a claim, in order, and starts their turns. */
  #startClaimed(claimed: readonly Committed<StartedTurn | null>[], slots: number, claimedAt: number): void {
    const { running, registry, logger } = this.#options;
    const started = claimed.filter(({ outcome }) => outcome !== null).length;
    // If a claimed turn failed instead of starting, the session's next turn is now runnable.
    this.#backlog.unclaimed += claimed.length - started;
    this.#count.take(claimed.length);
    running.unreserve(slots - started);
    // Waiting for a person resets the attempts of a turn, so turns with attempts were running when a process
    // ended.
    const resumed = claimed.filter(({ outcome }) => outcome !== null && outcome.attempt > 1).length;
    if (resumed > 0) logger.info({ turns: resumed }, "resumed turns that a restart had interrupted");
    for (const committed of claimed) {
      try {
        registry.apply(committed);
      } catch (error) {
        // This process still owns this turn and the others of the claim.
        logger.error({ err: error }, "could not announce a claimed turn");
      }
      if (committed.outcome !== null) this.#start(committed.outcome, claimedAt);
    }
  }

  /** Runs a turn in a reserved slot, or hands it back after the stop. */
  #start(turn: StartedTurn, claimedAt: number): void {
    const { running } = this.#options;
    if (this.#isStopped) {
      running.unreserve(1);
      this.#handedBack.push(handBack([turn.epoch], this.#options));
      return;
    }
    const started: RunningTurn = { turn, controller: new AbortController(), heldUntil: claimedAt + HOLD_MS };
    running.add(started);
    void this.#run(started);
  }

  /**
   * Runs a turn. After a defect, the turn runs again when its lease expires, and fails after the last
   * attempt.
   */
  async #run(started: RunningTurn): Promise<void> {
    try {
      await this.#options.runner.run(started.turn, started.controller.signal, this);
      if (this.#isStopped) this.#stoppedTurns.push(started.turn.epoch);
    } catch (error) {
      this.#options.logger.error(
        { err: error, turn: started.turn.number },
        "a turn stopped on an unexpected error; it runs again when its lease expires",
      );
      // The turn may have ended in the store before the defect; then the session's next turn is runnable.
      this.workArrived();
    } finally {
      this.#options.running.remove(started);
      this.#claimFreed();
    }
  }
}

/** Upper bounds on the runnable turns in the store. They may be too high, but never too low. */
export class Backlog {
  /** Upper bound of runnable turns beyond the current claim; infinite until the claim at the start, and after a failed claim. */
  unclaimed = Number.POSITIVE_INFINITY;
  /** Upper bound of runnable turns that the current claim leaves behind. */
  leftBehind = 0;
  /**
   * Number of chats that are being processed and have no slot yet. A later chat must leave one slot free for
   * each of them.
   */
  chatsWithoutSlot = 0;
  /** True if the last claim skipped turns of full providers; they wait until one has capacity. */
  skippedProviders = false;
  /** True if work arrived since other processes were last notified. */
  isUnannounced = false;

  /** Returns true if a chat's turn may take one of these free slots, without taking one that an earlier turn needs. */
  hasSlotForChat(free: number): boolean {
    return free > this.unclaimed + this.leftBehind + this.chatsWithoutSlot;
  }

  /** Begins a claim with `slots` free slots, while at most `waiting` turns are in the store. */
  beginClaim(slots: number, waiting: number, skipsProviders: boolean): void {
    this.leftBehind = Math.max(0, Math.min(this.unclaimed, waiting) - slots);
    this.unclaimed = 0;
    this.skippedProviders = skipsProviders;
  }

  /** Ends a claim after which more turns may be left. */
  endClaim(more: number): void {
    this.unclaimed += more;
    this.leftBehind = 0;
  }

  /** Resets the bounds after a failed claim: any number of turns may be left. */
  forget(): void {
    this.leftBehind = 0;
    this.unclaimed = Number.POSITIVE_INFINITY;
  }
}

interface WaitingCountOptions {
  readonly store: Pick<TurnStore, "countWaiting">;
  readonly clock: Clock;
  /** Maximum number of waiting turns; counting stops there. */
  readonly maxWaiting: number;
  /** True if no other process adds or takes turns; otherwise they are counted every second. */
  readonly isAlone: boolean;
}

/**
 * Caches the number of turns waiting in the store, so that a chat need not query it. Interrupts and deletions do not
 * decrement it, so it may be too high until the next count.
 */
class WaitingCount {
  readonly #options: WaitingCountOptions;
  #value = 0;
  #countedAt = Number.NEGATIVE_INFINITY;
  /** True if the last count stopped at the maximum, so that more may wait. */
  #capped = false;

  constructor(options: WaitingCountOptions) {
    this.#options = options;
  }

  get value(): number {
    return this.#value;
  }

  add(count: number): void {
    this.#value += count;
  }

  /** Subtracts claimed turns. Must be called in the order of the store's answers, including counts. */
  take(count: number): void {
    this.#value = Math.max(0, this.#value - count);
  }

  /** Returns true if the maximum number of turns is waiting. The answer is at most one second old. */
  async isFull(): Promise<boolean> {
    const { isAlone, maxWaiting } = this.#options;
    if (isAlone && this.#value < maxWaiting && !this.#capped) return false;
    await this.#recountIfOld();
    return this.#value >= maxWaiting;
  }

  /** Recounts after a claim found nothing more, because the cached number may be too high. */
  async correct(): Promise<void> {
    if (this.#value > 0) await this.#recountIfOld();
  }

  async recount(): Promise<void> {
    const { store, clock, maxWaiting } = this.#options;
    this.#countedAt = clock.monotonic();
    this.#value = await store.countWaiting(maxWaiting);
    this.#capped = this.#value >= maxWaiting;
  }

  async #recountIfOld(): Promise<void> {
    if (this.#options.clock.monotonic() - this.#countedAt >= RECOUNT_MS) await this.recount();
  }
}

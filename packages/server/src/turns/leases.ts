// Keeps the leases of the turns that run here, and stops a turn whose lease may have run out: by this process's own monotonic
// clock, before the store's clock can have given it to somebody else (docs/adr/0003). Where there is nobody else, its turns go on.

import type { Clock, Timer } from "../core/ports/clock.ts";
import type { Logger } from "../core/ports/logger.ts";
import type { TurnStore } from "../core/ports/turn-store.ts";
import { LEASE_MS } from "../core/turn.ts";
import type { RunningTurns } from "./running-turns.ts";

/** An owner trusts a lease this long from the moment it asked for it. */
export const HOLD_MS = 8_000;
const RENEW_EVERY_MS = 3_000;
/** Leases that somebody was changing when they were to be renewed. */
const RENEW_BUSY_EVERY_MS = 250;
const SWEEP_EVERY_MS = 1_000;
/** A turn stops so long after its lease may be over, at most; two seconds are left then until the store gives it away. */
const WATCH_EVERY_MS = 100;

export interface LeasesOptions {
  readonly store: TurnStore;
  readonly running: RunningTurns;
  readonly clock: Clock;
  readonly owner: string;
  readonly logger: Logger;
  /** Whether no other process takes turns in this store, and the store was opened so: then a lease that has run out is this one's still. */
  readonly isAlone: boolean;
  /** So many turns of dead owners may be started now. */
  readonly onReleased: (count: number) => void;
}

export class Leases {
  readonly #options: LeasesOptions;
  #timers: readonly Timer[] = [];
  #renewing = false;
  /** Whether somebody was changing leases when they were last asked for. */
  #isBusy = false;
  #sweeping = false;

  constructor(options: LeasesOptions) {
    this.#options = options;
  }

  start(): void {
    const { clock, isAlone } = this.#options;
    this.stop();
    if (isAlone) {
      this.#timers = [clock.every(RENEW_EVERY_MS, () => void this.sweep())];
      return;
    }
    this.#timers = [
      clock.every(RENEW_EVERY_MS, () => void this.renew()),
      clock.every(RENEW_BUSY_EVERY_MS, () => void this.#renewBusy()),
      clock.every(SWEEP_EVERY_MS, () => void this.sweep()),
      clock.every(WATCH_EVERY_MS, () => this.stopUnheld()),
    ];
  }

  stop(): void {
    for (const timer of this.#timers) timer.stop();
  }

  /**
   * Prolongs the leases of the turns that run here, and of no others: a turn that has stopped here without an end (a defect, a lease
   * that was not renewed in time) is left to run out. A turn whose lease is no longer this process's own stops; one whose lease somebody
   * is changing goes on while the lease that it had holds. Answers whether the leases of all that run here are fresh.
   */
  async renew(): Promise<boolean> {
    const { running, store, clock, owner, logger, isAlone } = this.#options;
    const before = running.all().filter(({ controller }) => !controller.signal.aborted);
    if (before.length === 0) return true;
    if (this.#renewing) return false;
    this.#renewing = true;
    const askedAt = clock.monotonic();
    try {
      const epochs = before.map(({ turn }) => turn.epoch);
      const { renewed, busy } = await store.renew(owner, epochs, LEASE_MS);
      const fresh = new Set(renewed);
      this.#isBusy = busy.length > 0;
      for (const turn of before) {
        if (fresh.has(turn.turn.epoch)) turn.heldUntil = askedAt + HOLD_MS;
        else if (!busy.includes(turn.turn.epoch)) turn.controller.abort();
      }
      return busy.length === 0;
    } catch (error) {
      const then = isAlone
        ? "turns go on, because nobody else can have them"
        : "turns stop when they have run out";
      logger.warn({ err: error }, `leases could not be renewed; ${then}`);
      return false;
    } finally {
      this.#renewing = false;
    }
  }

  /** Asks for all of them again: were it for those alone, a renewal of the others that comes due meanwhile would be left out. */
  async #renewBusy(): Promise<void> {
    if (!this.#isBusy) return;
    this.#isBusy = false;
    await this.renew();
  }

  /**
   * Makes the turns of dead owners runnable. Where this process is alone, these are turns of its own that have stopped without an end; those
   * that run are renewed before, because it may have been paused.
   */
  async sweep(): Promise<void> {
    const { store, logger, onReleased, isAlone } = this.#options;
    if (this.#sweeping) return;
    this.#sweeping = true;
    try {
      if (isAlone && !(await this.renew())) return;
      const released = await store.releaseDeadLeases(null);
      if (released > 0) onReleased(released);
    } catch (error) {
      logger.warn({ err: error }, "dead leases could not be looked for");
    } finally {
      this.#sweeping = false;
    }
  }

  /** Stops turns whose lease may have run out. */
  stopUnheld(): void {
    const { running, clock, logger } = this.#options;
    const now = clock.monotonic();
    for (const { turn, controller, heldUntil } of running.all()) {
      if (heldUntil > now || controller.signal.aborted) continue;
      logger.warn({ turn: turn.turn }, "a turn stops: its lease could not be renewed in time");
      controller.abort();
    }
  }
}

/**
 * Gives turns back that this process runs no more, because it stops: whoever has room goes on with them at once, and they lose none of
 * their attempts to it. Never rejects: where the store fails, their leases run out.
 */
export async function handBack(
  epochs: readonly number[],
  { store, owner, logger }: Pick<LeasesOptions, "store" | "owner" | "logger">,
): Promise<void> {
  if (epochs.length === 0) return;
  try {
    await store.handBack(owner, epochs);
  } catch (error) {
    logger.warn(
      { err: error },
      "stopped turns could not be handed back: this counts as one of their attempts",
    );
  }
}

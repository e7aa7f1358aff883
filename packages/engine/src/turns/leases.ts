// Renews the leases of running turns. Aborts a turn whose lease may have expired, by this process's monotonic
// clock, before the store can reassign it (docs/adr/0003). A single process keeps its turns.

import type { Clock, Timer } from "../core/ports/driven/clock.ts";
import type { Logger } from "../core/ports/driven/logger.ts";
import type { TurnStore } from "../core/ports/driven/store.ts";
import { LEASE_MS } from "../core/turn.ts";
import type { RunningTurns } from "./running-turns.ts";

/** How long an owner relies on a lease after requesting it. */
export const HOLD_MS = 8_000;
const RENEW_EVERY_MS = 3_000;
/** Interval for renewing leases that were locked by another transaction. */
const RENEW_BUSY_EVERY_MS = 250;
const SWEEP_EVERY_MS = 1_000;
/**
 * Interval for checking leases. A turn stops at most this long after its lease expires here; the store
 * reassigns it two seconds later.
 */
const WATCH_EVERY_MS = 100;

export interface LeasesOptions {
  readonly store: TurnStore;
  readonly running: RunningTurns;
  readonly clock: Clock;
  readonly owner: string;
  readonly logger: Logger;
  /** True if the store was opened for a single process, which then keeps its expired leases. */
  readonly isAlone: boolean;
  /** Called with the number of turns whose leases were released because their owners are dead. */
  readonly onReleased: (count: number) => void;
}

export class Leases {
  readonly #options: LeasesOptions;
  #timers: readonly Timer[] = [];
  #renewing = false;
  /** True if the last renewal found leases locked by other transactions. */
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
   * Renews the leases of running turns. Lets the lease expire of a turn that stopped because of a defect.
   * Aborts a turn whose lease has another owner. A turn whose lease is locked continues until the lease
   * expires. Returns true if every running turn has a fresh lease.
   */
  async renew(): Promise<boolean> {
    const { running, store, clock, owner, logger, isAlone } = this.#options;
    const before = running.all().filter(({ controller }) => !controller.signal.aborted);
    if (before.length === 0) return true;
    if (this.#renewing) return false;
    this.#renewing = true;
    const renewedAt = clock.monotonic();
    try {
      const epochs = before.map(({ turn }) => turn.epoch);
      const { renewed, busy } = await store.renew(owner, epochs, LEASE_MS);
      const fresh = new Set(renewed);
      this.#isBusy = busy.length > 0;
      for (const turn of before) {
        if (fresh.has(turn.turn.epoch)) turn.heldUntil = renewedAt + HOLD_MS;
        else if (!busy.includes(turn.turn.epoch)) turn.controller.abort();
      }
      return busy.length === 0;
    } catch (error) {
      const then = isAlone
        ? "turns go on, because no other process can own them"
        : "turns stop when their leases expire";
      logger.warn({ err: error }, `could not renew leases; ${then}`);
      return false;
    } finally {
      this.#renewing = false;
    }
  }

  /**
   * Renews all leases, not only the locked ones: a regular renewal that comes due during this one is skipped.
   */
  async #renewBusy(): Promise<void> {
    if (!this.#isBusy) return;
    this.#isBusy = false;
    await this.renew();
  }

  /**
   * Makes the turns of dead owners runnable. A single process, which may have been paused, first renews its
   * running turns; the other expired leases are those of turns that stopped because of a defect.
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
      logger.warn({ err: error }, "could not release leases of dead owners; retrying");
    } finally {
      this.#sweeping = false;
    }
  }

  stopUnheld(): void {
    const { running, clock, logger } = this.#options;
    const now = clock.monotonic();
    for (const { turn, controller, heldUntil } of running.all()) {
      if (heldUntil > now || controller.signal.aborted) continue;
      logger.warn({ turn: turn.number }, "stopping a turn: its lease was not renewed in time");
      controller.abort();
    }
  }
}

/**
 * Releases the leases of stopped turns, so that another process can continue them at once. Never rejects: if
 * the store fails, the leases expire.
 */
export async function handBack(
  epochs: readonly number[],
  { store, owner, logger }: Pick<LeasesOptions, "store" | "owner" | "logger">,
): Promise<void> {
  if (epochs.length === 0) return;
  try {
    await store.handBack(owner, epochs);
  } catch (error) {
    logger.warn({ err: error }, "could not hand back stopped turns; this counts as one of their attempts");
  }
}

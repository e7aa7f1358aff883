// Renews the leases of running turns, and stops a turn whose lease may have expired: by this process's monotonic clock, before the store's
// clock can have given it to another owner (docs/adr/0003). A process that is alone lets its turns go on.

import type { Clock, Timer } from "../core/ports/driven/clock.ts";
import type { Logger } from "../core/ports/driven/logger.ts";
import type { TurnStore } from "../core/ports/driven/turn-store.ts";
import { LEASE_MS } from "../core/turn.ts";
import type { RunningTurns } from "./running-turns.ts";

/** An owner trusts a lease for this long after requesting it. */
export const HOLD_MS = 8_000;
const RENEW_EVERY_MS = 3_000;
/** Interval for renewing leases that were locked by another transaction. */
const RENEW_BUSY_EVERY_MS = 250;
const SWEEP_EVERY_MS = 1_000;
/** Maximum delay before a turn with an expired lease stops; two seconds remain until the store reassigns it. */
const WATCH_EVERY_MS = 100;

export interface LeasesOptions {
  readonly store: TurnStore;
  readonly running: RunningTurns;
  readonly clock: Clock;
  readonly owner: string;
  readonly logger: Logger;
  /** True if the store was opened for a single process: an expired lease then still belongs to it. */
  readonly isAlone: boolean;
  /** Called with the number of turns released from dead owners. */
  readonly onReleased: (count: number) => void;
}

export class Leases {
  readonly #options: LeasesOptions;
  #timers: readonly Timer[] = [];
  #renewing = false;
  /** True if the last renewal found locked leases. */
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
   * Renews the leases of running turns only: a turn that stopped without an end is left to expire. A turn whose lease has another owner
   * stops; one whose lease is locked goes on until it expires. Returns true if all leases of running turns are fresh.
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
        ? "turns go on, because no other process can own them"
        : "turns stop when their leases expire";
      logger.warn({ err: error }, `could not renew leases; ${then}`);
      return false;
    } finally {
      this.#renewing = false;
    }
  }

  /** Renews all leases: renewing only the locked ones would skip a renewal of the others that comes due meanwhile. */
  async #renewBusy(): Promise<void> {
    if (!this.#isBusy) return;
    this.#isBusy = false;
    await this.renew();
  }

  /**
   * Makes the turns of dead owners runnable. If this process is alone, these are its own turns that stopped without an end; it first renews
   * running turns, because it may have been paused.
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
      logger.warn({ turn: turn.turn }, "stopping a turn: its lease was not renewed in time");
      controller.abort();
    }
  }
}

/** Hands stopped turns back, so that another process can continue them at once. Never rejects: if the store fails, the leases expire. */
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

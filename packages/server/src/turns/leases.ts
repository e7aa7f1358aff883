// Keeps the leases of the turns that run here, and stops a turn whose lease may have run out: by this process's own monotonic
// clock, before the store's clock can have given it to somebody else (docs/adr/0003).

import type { Clock, Timer } from "../core/ports/clock.ts";
import type { Logger } from "../core/ports/logger.ts";
import type { TurnStore } from "../core/ports/turn-store.ts";
import type { RunningTurns } from "./running-turns.ts";

/** A lease runs out this long after it was taken or renewed, on the store's clock. */
export const LEASE_MS = 10_000;
/** An owner trusts a lease this long from the moment it asked for it. */
export const HOLD_MS = 8_000;
const RENEW_EVERY_MS = 3_000;
const SWEEP_EVERY_MS = 1_000;

export class Leases {
  readonly #store: TurnStore;
  readonly #running: RunningTurns;
  readonly #clock: Clock;
  readonly #owner: string;
  readonly #logger: Logger;
  readonly #onReleased: () => void;
  readonly #timers: readonly Timer[];
  #renewing = false;
  #sweeping = false;

  constructor(options: {
    readonly store: TurnStore;
    readonly running: RunningTurns;
    readonly clock: Clock;
    readonly owner: string;
    readonly logger: Logger;
    /** Turns of dead owners may be started now. */
    readonly onReleased: () => void;
  }) {
    this.#store = options.store;
    this.#running = options.running;
    this.#clock = options.clock;
    this.#owner = options.owner;
    this.#logger = options.logger;
    this.#onReleased = options.onReleased;
    this.#timers = [
      options.clock.every(RENEW_EVERY_MS, () => void this.renew()),
      options.clock.every(SWEEP_EVERY_MS, () => void this.sweep()),
    ];
  }

  stop(): void {
    for (const timer of this.#timers) timer.stop();
  }

  /** Prolongs what this process holds; a turn whose lease is no longer its own stops. */
  async renew(): Promise<void> {
    if (this.#renewing || this.#running.size === 0) return;
    this.#renewing = true;
    const before = this.#running.all();
    const askedAt = this.#clock.monotonic();
    try {
      const held = new Set(await this.#store.renew(this.#owner, LEASE_MS));
      for (const running of before) {
        if (held.has(running.turn.epoch)) running.heldUntil = askedAt + HOLD_MS;
        else running.controller.abort();
      }
    } catch (error) {
      this.#logger.warn({ err: error }, "leases could not be renewed; turns stop when they have run out");
    } finally {
      this.#renewing = false;
    }
  }

  /** Stops turns whose lease may have run out, and makes those of dead owners runnable. */
  async sweep(): Promise<void> {
    const now = this.#clock.monotonic();
    for (const running of this.#running.all()) {
      if (running.heldUntil > now) continue;
      this.#logger.warn({ turn: running.turn.turn }, "a turn stops: its lease could not be renewed in time");
      running.controller.abort();
    }
    if (this.#sweeping) return;
    this.#sweeping = true;
    try {
      if ((await this.#store.releaseDeadLeases(null)) > 0) this.#onReleased();
    } catch (error) {
      this.#logger.warn({ err: error }, "dead leases could not be looked for");
    } finally {
      this.#sweeping = false;
    }
  }
}

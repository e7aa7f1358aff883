// Actions that nobody decides in time count as denied, and their turns go on. Looks every second, by the store's clock, and writes only
// when there is something to write.

import type { ActionStore } from "../core/ports/driven/action-store.ts";
import type { Clock, Timer } from "../core/ports/driven/clock.ts";
import type { Logger } from "../core/ports/driven/logger.ts";
import type { Dispatcher } from "../turns/dispatcher.ts";
import type { SessionRegistry } from "./session-registry.ts";

const EVERY_MS = 1_000;
/** Sessions of one transaction: more of them wait for the next one, so that it never holds up those who talk. */
const PORTION = 64;

export interface ActionExpiryOptions {
  readonly store: ActionStore;
  readonly registry: SessionRegistry;
  readonly dispatcher: Dispatcher;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class ActionExpiry {
  readonly #options: ActionExpiryOptions;
  #timer: Timer | null = null;
  #running: Promise<void> | null = null;
  #stopped = false;
  /** Whether the last look has failed. */
  #isFailing = false;

  constructor(options: ActionExpiryOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer ??= this.#options.clock.every(EVERY_MS, () => void this.sweep());
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.stop();
    await this.#running;
  }

  /** Looks now, or waits for the look that is under way. Never rejects. */
  async sweep(): Promise<void> {
    this.#running ??= this.#expire().finally(() => {
      this.#running = null;
    });
    await this.#running;
  }

  async #expire(): Promise<void> {
    const { store, logger } = this.#options;
    try {
      let more = await store.isAnyDue();
      while (more && !this.#stopped) more = (await this.#expireSome()) === PORTION;
      if (this.#isFailing) this.#makeUp();
    } catch (error) {
      // It is tried again every second, and a full disk would be full of this line otherwise.
      if (!this.#isFailing)
        logger.warn({ err: error }, "actions that nobody decided in time could not be ended; trying again");
      this.#isFailing = true;
    }
  }

  /** Nobody knows whether what failed was stored: if it was, memory lacks it, and nobody has rung for the turns. */
  #makeUp(): void {
    this.#isFailing = false;
    this.#options.registry.invalidateWaiting();
    this.#options.dispatcher.workArrived();
  }

  async #expireSome(): Promise<number> {
    const { store, registry, dispatcher } = this.#options;
    const expired = await store.expire(PORTION);
    for (const committed of expired) registry.apply(committed);
    const arrived = expired.reduce((sum, { outcome }) => sum + outcome.arrived, 0);
    if (arrived > 0) dispatcher.workArrived(arrived);
    return expired.length;
  }
}

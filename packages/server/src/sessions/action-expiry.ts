// Denies actions that expired without a decision, so that their turns go on. Checks every second, by the store's clock, and writes only if
// an action is due.

import type { Clock, Timer } from "../core/ports/driven/clock.ts";
import type { Logger } from "../core/ports/driven/logger.ts";
import type { Store } from "../core/ports/driven/store.ts";
import type { Dispatcher } from "../turns/dispatcher.ts";
import type { SessionRegistry } from "./session-registry.ts";

const EVERY_MS = 1_000;
/** Maximum sessions of one transaction, so that it never delays chats. */
const PORTION = 64;

export interface ActionExpiryOptions {
  readonly store: Pick<Store, "executeEach" | "actions">;
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
  /** True if the last check failed. */
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

  /** Checks now, or joins the check in progress. Never rejects. */
  async sweep(): Promise<void> {
    this.#running ??= this.#expire().finally(() => {
      this.#running = null;
    });
    await this.#running;
  }

  async #expire(): Promise<void> {
    const { store, logger } = this.#options;
    try {
      let more = await store.actions.isAnyDue();
      while (more && !this.#stopped) more = (await this.#expireSome()) === PORTION;
      if (this.#isFailing) this.#makeUp();
    } catch (error) {
      // Logged once: it is retried every second.
      if (!this.#isFailing) logger.warn({ err: error }, "could not expire actions; retrying");
      this.#isFailing = true;
    }
  }

  /** A failed transaction may have been stored: then memory lacks it, and its turns are not yet announced. */
  #makeUp(): void {
    this.#isFailing = false;
    this.#options.registry.invalidateWaiting();
    this.#options.dispatcher.workArrived();
  }

  async #expireSome(): Promise<number> {
    const { store, registry, dispatcher } = this.#options;
    const expired = await store.executeEach({ kind: "expireActions", limit: PORTION });
    for (const committed of expired) registry.apply(committed);
    const arrived = expired.reduce((sum, { outcome }) => sum + outcome.arrived, 0);
    if (arrived > 0) dispatcher.workArrived(arrived);
    return expired.length;
  }
}

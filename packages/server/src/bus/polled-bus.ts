// A bus of several processes that loses nothing: every two seconds the store is asked where the sessions stand that are followed here, so
// that what the notes of others did not bring comes later, and never not at all.

import type { Bus, BusListener, Following, SessionNote } from "../core/ports/bus.ts";
import type { Clock, Timer } from "../core/ports/clock.ts";
import type { Logger } from "../core/ports/logger.ts";
import type { SessionVersion } from "../core/ports/session-store.ts";
import { Listeners } from "./listeners.ts";

const POLL_MS = 2_000;
/** Sessions that are asked about at once: whoever asks for one meanwhile waits behind these, and not behind all. */
const PORTION = 500;

export interface PolledBusOptions {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Where a session stands in the store, `null` when there is none. */
  readonly version: (sessionId: string) => Promise<SessionVersion | null>;
  /** Lives of a session that this process knows. */
  readonly lives: (sessionId: string) => readonly string[];
}

export class PolledBus implements Bus {
  readonly #options: PolledBusOptions;
  readonly #listeners: Listeners;
  readonly #timer: Timer;
  /** How many follow each session. */
  readonly #followed = new Map<string, number>();
  #polling: Promise<void> | null = null;
  #isFailing = false;
  #closed = false;

  constructor(options: PolledBusOptions) {
    this.#options = options;
    this.#listeners = new Listeners(options.logger);
    options.bus.listen({
      onNote: (...heard) => this.#listeners.note(...heard),
      onWork: () => this.#listeners.work(),
      onResumed: () => void this.poll(),
    });
    this.#timer = options.clock.every(POLL_MS, () => void this.poll());
  }

  publish(sessionId: string, note: SessionNote): void {
    this.#options.bus.publish(sessionId, note);
  }

  ring(): void {
    this.#options.bus.ring();
  }

  listen(listener: BusListener): () => void {
    return this.#listeners.add(listener);
  }

  follow(sessionId: string): Following {
    const following = this.#options.bus.follow(sessionId);
    this.#followed.set(sessionId, (this.#followed.get(sessionId) ?? 0) + 1);
    let stopped = false;
    return {
      ready: following.ready,
      stop: () => {
        if (stopped) return;
        stopped = true;
        following.stop();
        const others = (this.#followed.get(sessionId) ?? 0) - 1;
        if (others > 0) this.#followed.set(sessionId, others);
        else this.#followed.delete(sessionId);
      },
    };
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#timer.stop();
    await this.#polling;
    await this.#options.bus.close();
  }

  /** Looks now, or waits for the look that is under way. Never rejects. */
  async poll(): Promise<void> {
    this.#polling ??= this.#poll().finally(() => {
      this.#polling = null;
    });
    await this.#polling;
  }

  async #poll(): Promise<void> {
    // There may be turns that nobody rang for.
    this.#listeners.work();
    try {
      const ids = [...this.#followed.keys()];
      for (let from = 0; from < ids.length && !this.#closed; from += PORTION) {
        await Promise.all(ids.slice(from, from + PORTION).map((id) => this.#look(id)));
      }
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing)
        this.#options.logger.warn({ err: error }, "the store could not be asked for news of other processes");
      this.#isFailing = true;
    }
  }

  async #look(id: string): Promise<void> {
    // Those that were known before the store is asked: a life that begins meanwhile may be missing in its answer, and is not over.
    const lives = new Set(this.#options.lives(id));
    const version = await this.#options.version(id);
    if (this.#closed) return;
    for (const life of lives) {
      if (life !== version?.life) this.#listeners.note(id, { kind: "deleted", life }, "elsewhere");
    }
    if (version === null) return;
    const { life, epoch, head } = version;
    this.#listeners.note(id, { kind: "moved", life, epoch, head }, "elsewhere");
  }
}

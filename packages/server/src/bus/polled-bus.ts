// Makes a lossy bus complete: every two seconds it reads the versions of the followed sessions from the
// store, so that changes whose notifications were lost arrive late instead of never.

import type { Bus, BusListener, Following, SessionNote } from "../core/ports/driven/bus.ts";
import type { Clock, Timer } from "../core/ports/driven/clock.ts";
import type { Logger } from "../core/ports/driven/logger.ts";
import type { SessionVersion } from "../core/ports/driven/session-store.ts";
import { Listeners } from "./listeners.ts";

const POLL_MS = 2_000;
/** Sessions read at once. Other reads of the store wait behind one batch, not behind all of them. */
const BATCH = 500;

export interface PolledBusOptions {
  readonly bus: Bus;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Returns the session's version in the store, or `null` if it does not exist. */
  readonly version: (sessionId: string) => Promise<SessionVersion | null>;
  /** Returns the session's incarnations that this process knows. */
  readonly incarnations: (sessionId: string) => readonly string[];
}

export class PolledBus implements Bus {
  readonly #options: PolledBusOptions;
  readonly #listeners: Listeners;
  readonly #timer: Timer;
  /** Number of followers of each session. */
  readonly #followed = new Map<string, number>();
  #polling: Promise<void> | null = null;
  #isFailing = false;
  #closed = false;

  constructor(options: PolledBusOptions) {
    this.#options = options;
    this.#listeners = new Listeners(options.logger);
    options.bus.listen({
      onNote: (...args) => this.#listeners.note(...args),
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

  /** Polls now, or joins the poll under way. Never rejects. */
  async poll(): Promise<void> {
    this.#polling ??= this.#poll().finally(() => {
      this.#polling = null;
    });
    await this.#polling;
  }

  async #poll(): Promise<void> {
    // A ring may have been lost, so turns may be waiting.
    this.#listeners.work();
    try {
      const ids = [...this.#followed.keys()];
      for (let from = 0; from < ids.length && !this.#closed; from += BATCH) {
        await Promise.all(ids.slice(from, from + BATCH).map((id) => this.#check(id)));
      }
      this.#isFailing = false;
    } catch (error) {
      if (!this.#isFailing)
        this.#options.logger.warn(
          { err: error },
          "could not poll the store for changes of other processes; retrying every two seconds",
        );
      this.#isFailing = true;
    }
  }

  async #check(id: string): Promise<void> {
    // Take the known incarnations before reading: one that starts meanwhile may be missing in the result
    // without having ended.
    const incarnations = new Set(this.#options.incarnations(id));
    const version = await this.#options.version(id);
    if (this.#closed) return;
    for (const life of incarnations) {
      if (life !== version?.life) this.#listeners.note(id, { kind: "deleted", life }, "elsewhere");
    }
    if (version === null) return;
    const { life, epoch, head } = version;
    this.#listeners.note(id, { kind: "moved", life, epoch, head }, "elsewhere");
  }
}

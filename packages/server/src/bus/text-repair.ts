// Repairs streaming text after a lost notification, or one that arrived before its subscriber, by reading the
// store. Checkpoints are at most 250 ms old, so it reads again until the missing pieces are there.

import type { Clock } from "../core/ports/driven/clock.ts";

const RETRY_MS = 250;
/** After this many tries something else is wrong; the next delta starts over. */
const MAX_TRIES = 20;

export interface TextRepairOptions {
  readonly clock: Clock;
  /**
   * Reads the session and its text from the store. Returns false if the result was older than what is known.
   */
  readonly read: (sessionId: string) => Promise<boolean>;
  /** Returns true if pieces are still missing and the session has subscribers. */
  readonly isBroken: (sessionId: string) => boolean;
}

export class TextRepair {
  readonly #options: TextRepairOptions;
  /** Sessions being read; true if another read was requested since the current one began. */
  readonly #reading = new Map<string, boolean>();
  #stopped = false;

  constructor(options: TextRepairOptions) {
    this.#options = options;
  }

  /** Starts a read of the session after this call. Never throws. */
  begin(sessionId: string): void {
    if (this.#stopped) return;
    const isUnderWay = this.#reading.has(sessionId);
    this.#reading.set(sessionId, isUnderWay);
    if (!isUnderWay) void this.#repair(sessionId, 1);
  }

  stop(): void {
    this.#stopped = true;
  }

  async #repair(sessionId: string, tries: number): Promise<void> {
    let isRepaired: boolean;
    do {
      this.#reading.set(sessionId, false);
      // Treat a store failure like missing text: try again later.
      const isRead = await this.#options.read(sessionId).catch(() => false);
      if (this.#stopped) return;
      isRepaired = isRead && !this.#options.isBroken(sessionId);
      // While pieces are missing, requests do not cause extra reads: only the timer retries.
    } while (isRepaired && this.#reading.get(sessionId) === true);
    if (isRepaired || tries === MAX_TRIES) this.#reading.delete(sessionId);
    else this.#options.clock.after(RETRY_MS, () => void this.#repair(sessionId, tries + 1));
  }
}

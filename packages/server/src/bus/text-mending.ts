// Reads the text of answers that stream in other processes, where a piece of it was lost on the way or came before its reader did. The
// store has every piece within 250 ms, so that it is asked again until it has the ones that are missing.

import type { Clock } from "../core/ports/clock.ts";

const AGAIN_MS = 250;
/** After so many tries something else is wrong, and the next piece that comes begins anew. */
const MAX_TRIES = 20;

export interface TextMendingOptions {
  readonly clock: Clock;
  /** Reads the session, and with it the text that it shows. */
  readonly read: (sessionId: string) => Promise<unknown>;
  /** Whether pieces are still missing, and somebody is there to be shown them. */
  readonly isBroken: (sessionId: string) => boolean;
}

export class TextMending {
  readonly #options: TextMendingOptions;
  readonly #under = new Set<string>();
  #stopped = false;

  constructor(options: TextMendingOptions) {
    this.#options = options;
  }

  /** Begins to mend, unless that is under way. Never throws. */
  begin(sessionId: string): void {
    if (this.#under.has(sessionId) || this.#stopped) return;
    this.#under.add(sessionId);
    void this.#mend(sessionId, 1);
  }

  stop(): void {
    this.#stopped = true;
  }

  async #mend(sessionId: string, tries: number): Promise<void> {
    // A store that fails now is asked again like one that does not have the text yet.
    await this.#options.read(sessionId).catch(() => undefined);
    if (this.#stopped || tries === MAX_TRIES || !this.#options.isBroken(sessionId)) {
      this.#under.delete(sessionId);
      return;
    }
    this.#options.clock.after(AGAIN_MS, () => void this.#mend(sessionId, tries + 1));
  }
}

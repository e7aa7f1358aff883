// Reads what was committed and said in other processes, where a note of it was lost or came before its reader did. The store has every
// piece of text within 250 ms, so that it is asked again until it has the ones that are missing.

import type { Clock } from "../core/ports/clock.ts";

const AGAIN_MS = 250;
/** After so many tries something else is wrong, and the next piece that comes begins anew. */
const MAX_TRIES = 20;

export interface TextMendingOptions {
  readonly clock: Clock;
  /** Reads the session, and with it the text that it shows; answers whether that was newer than what is known. */
  readonly read: (sessionId: string) => Promise<boolean>;
  /** Whether pieces are still missing, and somebody is there to be shown them. */
  readonly isBroken: (sessionId: string) => boolean;
}

export class TextMending {
  readonly #options: TextMendingOptions;
  /** Sessions that are being read, and whether there was more to be read since that began. */
  readonly #under = new Map<string, boolean>();
  #stopped = false;

  constructor(options: TextMendingOptions) {
    this.#options = options;
  }

  /** Reads the session at some moment after this call. Never throws. */
  begin(sessionId: string): void {
    if (this.#stopped) return;
    const isUnderWay = this.#under.has(sessionId);
    this.#under.set(sessionId, isUnderWay);
    if (!isUnderWay) void this.#mend(sessionId, 1);
  }

  stop(): void {
    this.#stopped = true;
  }

  async #mend(sessionId: string, tries: number): Promise<void> {
    let isMended: boolean;
    do {
      this.#under.set(sessionId, false);
      // A store that fails now is asked again like one that does not have the text yet.
      const isRead = await this.#options.read(sessionId).catch(() => false);
      if (this.#stopped) return;
      isMended = isRead && !this.#options.isBroken(sessionId);
      // What is still broken takes time, however often somebody finds it so.
    } while (isMended && this.#under.get(sessionId) === true);
    if (isMended || tries === MAX_TRIES) this.#under.delete(sessionId);
    else this.#options.clock.after(AGAIN_MS, () => void this.#mend(sessionId, tries + 1));
  }
}

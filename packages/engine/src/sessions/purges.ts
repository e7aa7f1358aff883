// Overwrites erased data on disk. On SQLite a purge rewrites the file, which blocks all other writes.

import { Unavailable } from "../core/errors.ts";
import type { Clock } from "../core/ports/driven/clock.ts";

/** Maximum attempts while another process reads the database, and the pause between two attempts. */
const TRIES = 20;
const PAUSE_MS = 250;
/** After a purge, the next one waits for this many times its duration. */
const REST_FACTOR = 10;

/** Runs purges one after the other, with pauses, so that repeated erasures cannot keep the store busy. */
export class Purges {
  readonly #purge: () => Promise<boolean>;
  readonly #clock: Pick<Clock, "sleep" | "monotonic">;
  /** The purge that has not begun yet. */
  #planned: Promise<void> | null = null;
  /** Settles with the latest purge; never rejects. */
  #latest: Promise<void> = Promise.resolve();
  #notBefore = 0;

  /** `purge` returns false if another process reads the database. */
  constructor(purge: () => Promise<boolean>, clock: Pick<Clock, "sleep" | "monotonic">) {
    this.#purge = purge;
    this.#clock = clock;
  }

  /** Purges the store. Resolves when all data deleted before this call is overwritten.
   * @throws Unavailable 503 `not_purged` if the write-ahead log may still contain deleted text
   */
  run(): Promise<void> {
    if (this.#planned === null) {
      this.#planned = this.#after(this.#latest);
      this.#latest = this.#planned.catch(() => undefined);
    }
    return this.#planned;
  }

  async #after(earlier: Promise<void>): Promise<void> {
    const clock = this.#clock;
    await earlier;
    const rest = this.#notBefore - clock.monotonic();
    if (rest > 0) await clock.sleep(rest);
    // Deletions from now on need another purge.
    this.#planned = null;
    const began = clock.monotonic();
    try {
      await this.#attempt();
    } finally {
      const now = clock.monotonic();
      this.#notBefore = now + REST_FACTOR * (now - began);
    }
  }

  async #attempt(): Promise<void> {
    for (let tries = 0; tries < TRIES; tries += 1) {
      if (await this.#purge()) return;
      await this.#clock.sleep(PAUSE_MS);
    }
    const detail =
      "Everything is deleted, but another process reads the database, so that its log may still hold deleted text. Send the request again.";
    throw new Unavailable(503, "not_purged", detail, 5);
  }
}

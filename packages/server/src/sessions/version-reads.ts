// Where sessions stand in a store that other processes change too. Reads that are asked for while one is under way go together in the
// next one, so that many polls cost one statement at a time; none is answered by a read that began before it was asked for.

import type { SessionStore, SessionVersion } from "../core/ports/driven/session-store.ts";

/** Sessions of one read. */
const PORTION = 500;

type Answer = PromiseWithResolvers<SessionVersion | null>;

export class VersionReads {
  readonly #store: Pick<SessionStore, "versions">;
  readonly #wanted = new Map<string, Answer>();
  #reading = false;

  constructor(store: Pick<SessionStore, "versions">) {
    this.#store = store;
  }

  /** `null` when there is no such session. Rejects as the store does. */
  of(id: string): Promise<SessionVersion | null> {
    let answer = this.#wanted.get(id);
    if (answer === undefined) {
      answer = Promise.withResolvers();
      this.#wanted.set(id, answer);
      if (!this.#reading) void this.#read();
    }
    return answer.promise;
  }

  async #read(): Promise<void> {
    this.#reading = true;
    // Everything that is asked for in one turn of the event loop goes together.
    await Promise.resolve();
    while (this.#wanted.size > 0) {
      const portion = [...this.#wanted].slice(0, PORTION);
      for (const [id] of portion) this.#wanted.delete(id);
      await this.#answer(new Map(portion));
    }
    this.#reading = false;
  }

  async #answer(asked: ReadonlyMap<string, Answer>): Promise<void> {
    try {
      const versions = await this.#store.versions([...asked.keys()]);
      for (const version of versions) asked.get(version.id)?.resolve(version);
      for (const answer of asked.values()) answer.resolve(null);
    } catch (error) {
      for (const answer of asked.values()) answer.reject(error);
    }
  }
}

// Sessions that are not in memory: whether they may be created is asked of one at a time for each id, so that a burst of requests to one new
// session counts as one new session, and costs one look into the store.

import { randomUUID } from "node:crypto";
import type { Admit } from "../core/ports/driving/services.ts";
import type { SessionBirth } from "../core/session.ts";

/** How it ended for whoever went first. */
type End = "made" | "refused" | "failed";

/** What a session with this rig begins as, if it has to be created. */
export function newBirth(model: string, spelling: string): SessionBirth {
  // 48 random bits: all that has to differ is the lives of one id.
  const random = randomUUID();
  return { life: random.slice(0, 8) + random.slice(9, 13), model, spelling };
}

/** What a transaction answers that may create its session: `null` would be a defect. */
export function surelyMade<Made>(made: Made | null): Made {
  if (made === null) throw new Error("A transaction that may create its session has not");
  return made;
}

export class Births {
  readonly #isThere: (id: string) => Promise<boolean>;
  readonly #underWay = new Map<string, Promise<End>>();

  /** `isThere` answers whether there is such a session already. */
  constructor(isThere: (id: string) => Promise<boolean>) {
    this.#isThere = isThere;
  }

  /**
   * Runs `make`, which creates the session unless there is one, when there is one or `admit` lets it be created. Whoever comes meanwhile
   * waits: after one that was made he is not asked; after one that was refused the next is asked, for himself.
   */
  async make<Made>(id: string, admit: Admit, make: () => Promise<Made>): Promise<Made> {
    for (let other = this.#underWay.get(id); other !== undefined; other = this.#underWay.get(id)) {
      const end = await other;
      if (end === "made") return await make();
      // The store is away, for example: not one after the other for as long as each has to wait for it.
      if (end === "failed") return await this.#admitted(id, admit, make);
    }
    return await this.#first(id, admit, make);
  }

  async #first<Made>(id: string, admit: Admit, make: () => Promise<Made>): Promise<Made> {
    const { promise, resolve } = Promise.withResolvers<End>();
    this.#underWay.set(id, promise);
    let end: End = "failed";
    const asked = async (): Promise<void> => {
      end = "refused";
      await admit();
      end = "failed";
    };
    try {
      const made = await this.#admitted(id, asked, make);
      end = "made";
      return made;
    } finally {
      this.#underWay.delete(id);
      resolve(end);
    }
  }

  async #admitted<Made>(id: string, admit: Admit, make: () => Promise<Made>): Promise<Made> {
    if (!(await this.#isThere(id))) await admit();
    return await make();
  }
}

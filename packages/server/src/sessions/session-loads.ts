// Sessions that are not in memory come into it: one load however many ask, and whoever asks for one that does not exist is admitted first.
// Who asks while a load is under way takes the answer of the next one, with all the others who do: the one under way may have read the store
// before he asked.

import type { Admit } from "../core/ports/driving/services.ts";
import { surelyMade, type Births } from "./births.ts";
import type { Session } from "./session.ts";

export interface SessionLoadsOptions {
  readonly births: Pick<Births, "make">;
  /** The session in memory, if it is right. */
  readonly current: (id: string) => Promise<Session | null>;
  /** Loads the session, `null` when there is none. */
  readonly find: (id: string) => Promise<Session | null>;
  /** Loads the session, or creates it under this spelling of its id. */
  readonly open: (id: string, spelling: string) => Promise<Session>;
}

/** Those who take the answer of one load. */
interface Waiting {
  /** How the first of them spells the id who may create the session: then the load does, and they all have it. `null`: nobody may. */
  spelling: string | null;
  readonly answer: PromiseWithResolvers<Session | null>;
}

export class SessionLoads {
  readonly #options: SessionLoadsOptions;
  /** By the ids of the sessions that are being loaded: who waits for the load after that. */
  readonly #underWay = new Map<string, Waiting | null>();

  constructor(options: SessionLoadsOptions) {
    this.#options = options;
  }

  /** `wasThere` where whoever asks has seen that the session exists: that spares a look at it, unless it was deleted since. */
  async load(id: string, admit: Admit | null, wasThere: boolean, spelling: string = id): Promise<Session> {
    const open = async () => surelyMade(await this.#loadOnce(id, spelling));
    if (admit === null) return await open();
    const found = wasThere ? await this.#loadOnce(id, null) : null;
    return found ?? (await this.#options.births.make(id, admit, open));
  }

  /** `null` only where the session is not there, and is not to be created. */
  #loadOnce(id: string, spelling: string | null): Promise<Session | null> {
    const isUnderWay = this.#underWay.has(id);
    const waiting = this.#underWay.get(id) ?? { spelling: null, answer: Promise.withResolvers() };
    waiting.spelling ??= spelling;
    this.#underWay.set(id, waiting);
    if (!isUnderWay) void this.#loadFor(id, waiting);
    return waiting.answer.promise;
  }

  async #loadFor(id: string, first: Waiting): Promise<void> {
    this.#underWay.set(id, null);
    await this.#answer(id, first, this.#load(id, first));
    for (let next = this.#next(id); next !== null; next = this.#next(id)) {
      await this.#answer(id, next, this.#currentOrLoad(id, next));
    }
    this.#underWay.delete(id);
  }

  async #answer(id: string, { answer }: Waiting, load: Promise<Session | null>): Promise<void> {
    try {
      answer.resolve(await load);
    } catch (error) {
      answer.reject(error);
      // The store is away, for example: whoever came meanwhile need not wait for that once more.
      this.#next(id)?.answer.reject(error);
    }
  }

  /** Those who have waited; from now on others wait for the load after theirs. */
  #next(id: string): Waiting | null {
    const next = this.#underWay.get(id) ?? null;
    this.#underWay.set(id, null);
    return next;
  }

  async #currentOrLoad(id: string, waiting: Waiting): Promise<Session | null> {
    return (await this.#options.current(id)) ?? (await this.#load(id, waiting));
  }

  async #load(id: string, { spelling }: Waiting): Promise<Session | null> {
    const { find, open } = this.#options;
    return await (spelling === null ? find(id) : open(id, spelling));
  }
}

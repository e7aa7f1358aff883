// Sessions that are not in memory come into it: one load however many ask, and whoever asks for one that does not exist is admitted first.

import type { AdmitNewSession } from "../core/ports/services.ts";
import type { Births } from "./births.ts";
import type { Session } from "./session.ts";

export interface SessionLoadsOptions {
  readonly births: Births;
  /** The session in memory, if it is right. */
  readonly current: (id: string) => Promise<Session | null>;
  /** Loads the session, `null` when there is none. */
  readonly find: (id: string) => Promise<Session | null>;
  /** Loads the session, or creates it. */
  readonly open: (id: string) => Promise<Session>;
}

export class SessionLoads {
  readonly #options: SessionLoadsOptions;
  readonly #underWay = new Map<string, Promise<Session | null>>();

  constructor(options: SessionLoadsOptions) {
    this.#options = options;
  }

  /** `wasThere` where whoever asks has seen that the session exists: that spares a look at it, unless it was deleted since. */
  async load(id: string, admit: AdmitNewSession, wasThere: boolean): Promise<Session> {
    const { births, find, open } = this.#options;
    if (admit === null) return await this.#loadOnce(id, open);
    const found = wasThere ? await this.#loadOnce(id, find) : null;
    return found ?? (await births.make(id, admit, () => this.#loadOnce(id, open)));
  }

  async #loadOnce<Loaded extends Session | null>(
    id: string,
    open: (id: string) => Promise<Loaded>,
  ): Promise<Session | Loaded> {
    const loading = this.#underWay.get(id);
    if (loading !== undefined) {
      // It may have read the store before this was asked for.
      await loading;
      return (await this.#options.current(id)) ?? (await this.#loadOnce(id, open));
    }
    const load = open(id).finally(() => this.#underWay.delete(id));
    this.#underWay.set(id, load);
    return await load;
  }
}

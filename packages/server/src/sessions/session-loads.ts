// Sessions that are not in memory come into it: one load however many ask, and whoever asks for one that does not exist is admitted first.

import type { AdmitNewSession } from "../core/ports/services.ts";
import type { Births } from "./births.ts";
import type { Session } from "./session.ts";

export interface SessionLoadsOptions {
  readonly births: Births;
  /** The session in memory, if it is right. */
  readonly current: (id: string) => Promise<Session | null>;
  /** Loads the session, or creates it. */
  readonly open: (id: string) => Promise<Session>;
}

export class SessionLoads {
  readonly #options: SessionLoadsOptions;
  readonly #underWay = new Map<string, Promise<Session>>();

  constructor(options: SessionLoadsOptions) {
    this.#options = options;
  }

  /** `isThere` where whoever asks has seen that the session exists. */
  async load(id: string, admit: AdmitNewSession, isThere: boolean): Promise<Session> {
    if (admit === null || isThere) return await this.#loadOnce(id);
    return await this.#options.births.make(id, admit, () => this.#loadOnce(id));
  }

  async #loadOnce(id: string): Promise<Session> {
    const { current, open } = this.#options;
    const loading = this.#underWay.get(id);
    if (loading !== undefined) {
      // It may have read the store before this was asked for.
      await loading;
      return (await current(id)) ?? (await this.#loadOnce(id));
    }
    const load = open(id).finally(() => this.#underWay.delete(id));
    this.#underWay.set(id, load);
    return await load;
  }
}

// The commits that are under way. The next one begins when the one before is only waited for by the disk: more is committed together then,
// which costs less than two that read and write beside each other.

import type { Connections } from "./connections.ts";
import { commitChanges, type Change, type Outcome } from "./group-commit.ts";

const LATE_MS = 20;

export interface CommitLanesOptions {
  readonly connections: Connections;
  /** Commits that may be under way at once. */
  readonly lanes: number;
  /** Called when another one may begin. */
  readonly onFree: () => void;
  /** Milliseconds until nobody waits any more for a commit to have written all, because it may be reading something large; 20 when absent. */
  readonly lateMs?: number;
}

export class CommitLanes {
  readonly #options: CommitLanesOptions;
  #inUse = 0;
  /** What the commit calls that has not written all yet; `null` for none. */
  #beginning: (() => void) | null = null;

  constructor(options: CommitLanesOptions) {
    this.#options = options;
  }

  get isFree(): boolean {
    return this.#beginning === null && this.#inUse < this.#options.lanes;
  }

  /** As `commitChanges`; is to be called when a lane is free. */
  async commit(changes: readonly Change[]): Promise<readonly Outcome[]> {
    const goOn = (): void => {
      if (this.#beginning !== goOn) return;
      this.#beginning = null;
      if (this.isFree) this.#options.onFree();
    };
    this.#beginning = goOn;
    this.#inUse += 1;
    const { connections, lateMs = LATE_MS } = this.#options;
    const late = setTimeout(goOn, lateMs);
    const outcomes = await commitChanges(connections, changes, goOn);
    clearTimeout(late);
    this.#inUse -= 1;
    if (this.#beginning === goOn) this.#beginning = null;
    if (this.isFree) this.#options.onFree();
    return outcomes;
  }
}

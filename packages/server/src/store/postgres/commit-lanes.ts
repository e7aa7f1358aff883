// The commits that are under way. The next one begins when the one before has ended: more is committed together then, which costs less than
// two that read and write beside each other. Where the disk is slow, it begins when the one before only waits for that. Behind one that held
// many it begins a moment later, so that those who were answered and ask again at once find a place in it (as PostgreSQL's `commit_delay` and
// `commit_siblings` have it).

import type { Connections } from "./connections.ts";
import { commitChanges, type Change, type Outcome } from "./group-commit.ts";

const LATE_MS = 20;
/** A disk that takes longer is waited for beside the next commit. */
const DISK_MS = 2;
/** How long a commit waits for others behind one that held more than a few changes. */
const GATHER_MS = 1;
const FEW = 4;

export interface CommitLanesOptions {
  readonly connections: Connections;
  /** Commits that may be under way at once. */
  readonly lanes: number;
  /** Called when another one may begin. */
  readonly onFree: () => void;
  /** Milliseconds until nobody waits any more for a commit to have written all, because it may be reading something large; 20 when absent. */
  readonly lateMs?: number;
  /** Milliseconds until the disk is not waited for alone any more, once all is written; 2 when absent. */
  readonly diskMs?: number;
}

export class CommitLanes {
  readonly #options: CommitLanesOptions;
  #inUse = 0;
  /** What the commit calls that has not written all yet; `null` for none. */
  #beginning: (() => void) | null = null;
  #gathering: NodeJS.Timeout | null = null;

  constructor(options: CommitLanesOptions) {
    this.#options = options;
  }

  get isFree(): boolean {
    return this.#gathering === null && this.#beginning === null && this.#inUse < this.#options.lanes;
  }

  /** As `commitChanges`; is to be called when a lane is free. */
  async commit(changes: readonly Change[]): Promise<readonly Outcome[]> {
    const goOn = (): void => {
      if (this.#beginning !== goOn) return;
      this.#beginning = null;
      this.#tellIfFree();
    };
    this.#beginning = goOn;
    this.#inUse += 1;
    const { connections, lateMs = LATE_MS, diskMs = DISK_MS } = this.#options;
    const late = setTimeout(goOn, lateMs);
    let onDisk: NodeJS.Timeout | undefined;
    const outcomes = await commitChanges(connections, changes, () => {
      onDisk ??= setTimeout(goOn, diskMs);
    });
    clearTimeout(late);
    clearTimeout(onDisk);
    this.#inUse -= 1;
    if (this.#beginning === goOn) this.#beginning = null;
    if (changes.length > FEW) this.#gather();
    this.#tellIfFree();
    return outcomes;
  }

  #gather(): void {
    this.#gathering ??= setTimeout(() => {
      this.#gathering = null;
      this.#tellIfFree();
    }, GATHER_MS);
  }

  #tellIfFree(): void {
    if (this.isFree) this.#options.onFree();
  }
}

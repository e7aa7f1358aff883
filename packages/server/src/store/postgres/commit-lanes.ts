// Schedules commits. The next commit begins when the previous one has ended: one larger commit costs less
// than two side by side. On a slow disk it begins when only the disk write of the previous one is pending.
// After a large commit it begins a moment later, so that callers that continue at once join it (compare
// PostgreSQL's `commit_delay` and `commit_siblings`).

import type { Connections } from "./connections.ts";
import { commitChanges, type Change, type Outcome } from "./group-commit.ts";

const LATE_MS = 20;
/** If the disk takes longer, the next commit begins during the write. */
const DISK_MS = 2;
/** Delay of the commit after one with more than `FEW` changes. */
const GATHER_MS = 1;
const FEW = 4;

export interface CommitLanesOptions {
  readonly connections: Connections;
  /** Maximum concurrent commits. */
  readonly lanes: number;
  /** Called when another commit may begin. */
  readonly onFree: () => void;
  /** Milliseconds after which the next commit begins while this one still writes; 20 when absent. */
  readonly lateMs?: number;
  /** Milliseconds of waiting for the disk after which the next commit begins; 2 when absent. */
  readonly diskMs?: number;
}

export class CommitLanes {
  readonly #options: CommitLanesOptions;
  #inUse = 0;
  /** Ends the exclusive phase of the commit that is still writing; `null` for none. */
  #beginning: (() => void) | null = null;
  #gathering: NodeJS.Timeout | null = null;

  constructor(options: CommitLanesOptions) {
    this.#options = options;
  }

  get isFree(): boolean {
    return this.#gathering === null && this.#beginning === null && this.#inUse < this.#options.lanes;
  }

  /** Like `commitChanges`. Must be called only when a lane is free. */
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

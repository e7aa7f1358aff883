// Commits all waiting changes in one transaction, which makes a durable write cheap. If a change or the transaction
// fails, everything is rolled back and each change is repeated in a separate transaction, so that one bad row
// never fails its neighbours (contract section 3). SKIP LOCKED: a change never waits for the lock of another
// session.

import type { Needs } from "@colloquy/engine/internal/core/commands/command";
import { PASSED_OVER } from "./calls.ts";
import { commit } from "./commit.ts";
import type { Connections } from "./connections.ts";
import { writeOf } from "./draft-writer.ts";
import { breaksConnection, isLockTimeout, isWorthRepeating } from "./failures.ts";
import type { Patience } from "./session-locks.ts";
import { Transaction } from "./transaction.ts";

export interface Change {
  readonly sessionId: string;
  readonly needs: Needs;
  /** True if the change creates a missing session. */
  readonly mayCreate: boolean;
  /** `null` uses the database's time. */
  readonly at: number | null;
  decide(transaction: Transaction, at: number): unknown;
}

export type Outcome = { readonly value: unknown } | { readonly error: unknown } | typeof PASSED_OVER;

const LATE_MS = 20;
/** Milliseconds of waiting for the disk after which the next commit begins. */
const DISK_MS = 2;
/** Delay in milliseconds of a commit that follows one with more than `FEW` changes. */
const GATHER_MS = 1;
const FEW = 4;

/** Maximum attempts after deadlocks and conflicts. */
const TIMES = 5;

/**
 * Commits changes and returns their outcomes in order, once they are on disk; `PASSED_OVER` for changes of
 * locked sessions. Calls `onWritten`, possibly more than once, when only the end of a transaction is pending.
 */
export async function commitChanges(
  connections: Connections,
  changes: readonly Change[],
  onWritten: () => void = () => undefined,
): Promise<readonly Outcome[]> {
  if (changes.length > 1) {
    try {
      return await commitTogether(connections, changes, "passes over", onWritten);
    } catch (error) {
      if (breaksConnection(error)) return changes.map(() => ({ error }));
    }
  }
  return await commitOneByOne(connections, changes, onWritten);
}

/** Like `commitChanges`, for one session, but waits for its lock. */
export async function commitPatiently(
  connections: Connections,
  changes: readonly Change[],
): Promise<readonly Outcome[]> {
  try {
    return await commitTogether(connections, changes, "waits");
  } catch (error) {
    if (breaksConnection(error) || isLockTimeout(error)) return changes.map(() => ({ error }));
    return await commitOneByOne(connections, changes);
  }
}

/**
 * Commits each change in a separate transaction. Once a change is skipped, so are the later ones of its
 * session, to keep their order.
 */
async function commitOneByOne(
  connections: Connections,
  changes: readonly Change[],
  onWritten?: () => void,
): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = [];
  const held = new Set<string>();
  for (const change of changes) {
    const outcome = held.has(change.sessionId)
      ? PASSED_OVER
      : await commitAlone(connections, change, onWritten);
    if (outcome === PASSED_OVER) held.add(change.sessionId);
    outcomes.push(outcome);
  }
  return outcomes;
}

async function commitAlone(
  connections: Connections,
  change: Change,
  onWritten?: () => void,
): Promise<Outcome> {
  try {
    const [outcome] = await commitTogether(connections, [change], "passes over", onWritten);
    return outcome ?? PASSED_OVER;
  } catch (error) {
    return { error };
  }
}

/** Runs a transaction, and retries it after a deadlock or a serialization failure, at most `TIMES` times. */
export async function repeated<Result>(run: () => Promise<Result>): Promise<Result> {
  for (let times = 1; ; times += 1) {
    try {
      return await run();
    } catch (error) {
      if (times === TIMES || !isWorthRepeating(error)) throw error;
    }
  }
}

function commitTogether(
  connections: Connections,
  changes: readonly Change[],
  patience: Patience,
  onWritten: () => void = () => undefined,
): Promise<readonly Outcome[]> {
  const needs = new Map<string, Needs[]>();
  for (const change of changes) {
    const others = needs.get(change.sessionId);
    if (others === undefined) needs.set(change.sessionId, [change.needs]);
    else others.push(change.needs);
  }
  const births = changes.filter(({ mayCreate }) => mayCreate).map(({ sessionId }) => sessionId);
  const locked = {
    sessions: needs,
    patience,
    epochs: epochsOf(changes.map((change) => change.needs)),
    births: new Set(births),
  };
  return repeated(() =>
    connections.write(async (connection) => {
      const transaction = await Transaction.begin(connection, locked);
      const result = changes.map(
        (change): Outcome =>
          transaction.isHeld(change.sessionId)
            ? PASSED_OVER
            : { value: change.decide(transaction, change.at ?? transaction.at) },
      );
      // Throws before anything is sent if a value cannot be serialized: then there must be no COMMIT.
      const write = writeOf(transaction.changes);
      const writes = write(connection);
      const ended = commit(connection, writes);
      writes.then(onWritten, () => undefined);
      // `Connections.write` awaits it.
      ended.catch(() => undefined);
      return { result, transaction: transaction.name, ended };
    }),
  );
}

/** Returns an upper bound of the epochs that the commands take. */
export function epochsOf(needs: readonly Needs[]): number {
  return needs.reduce((sum, { epochs = 0 }) => sum + epochs, 0);
}

interface CommitLanesOptions {
  readonly connections: Connections;
  /** Maximum concurrent commits. */
  readonly lanes: number;
  /** Called when another commit may begin. */
  readonly onFree: () => void;
  /** Milliseconds after which the next commit begins although this one is still writing; 20 if absent. */
  readonly lateMs?: number;
  /** Milliseconds of waiting for the disk after which the next commit begins; 2 if absent. */
  readonly diskMs?: number;
}

/**
 * Schedules commits. Commits run one after another, because one large commit costs less than two concurrent ones. On
 * a slow disk, the next commit begins while the previous one waits only for the disk. After a large commit, the next
 * one is delayed by `GATHER_MS`, so that callers that continue at once join it (compare PostgreSQL's `commit_delay`
 * and `commit_siblings`).
 */
export class CommitLanes {
  readonly #options: CommitLanesOptions;
  #inUse = 0;
  /** Lets the next commit begin while the current one is still writing; `null` if none is. */
  #beginning: (() => void) | null = null;
  #gathering: NodeJS.Timeout | null = null;

  constructor(options: CommitLanesOptions) {
    this.#options = options;
  }

  get isFree(): boolean {
    return this.#gathering === null && this.#beginning === null && this.#inUse < this.#options.lanes;
  }

  /** Like `commitChanges`. Must only be called while a lane is free. */
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

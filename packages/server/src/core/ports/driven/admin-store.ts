// What operators look at, in the store: of all Apps and all processes. Every method only reads, and reads no more than it is told to.
// Times are milliseconds since the Unix epoch, on the store's clock.

import type { Lease, TurnRecord } from "../../turn.ts";

export interface SeenTurn {
  readonly turn: TurnRecord;
  /** Under which it runs; `null` where nobody has one. */
  readonly lease: (Lease & { readonly owner: string }) | null;
  /** When the last of those who are asked for it has to have decided; `null` where nobody is asked. */
  readonly decideBy: number | null;
}

export interface SeenSession {
  readonly key: number;
  readonly id: string;
  /** As in `SessionRecord`. */
  readonly spelling: string;
  /** Of which it counts. */
  readonly app: string;
  readonly title: string;
  readonly model: string;
  readonly publicKey: string | null;
  readonly messageCount: number;
  readonly turnCount: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly usedAt: number;
  /** The first that has not ended, else the last; `null` where there was none. */
  readonly turn: SeenTurn | null;
}

/** Where a page of sessions ended. */
export interface UsePlace {
  readonly usedAt: number;
  readonly key: number;
}

export interface StoredCounts {
  /** Sessions in which a person is asked something. */
  readonly asking: number;
  readonly pendingActions: number;
  /** Those who have a turn under a lease that has not run out. */
  readonly owners: readonly { readonly owner: string; readonly running: number }[];
}

/** A turn that has ended. */
export interface EndedTurn {
  readonly sessionKey: number;
  readonly number: number;
  readonly app: string;
  readonly state: TurnRecord["state"];
  readonly model: string | null;
  /** Whether an answer was begun. */
  readonly hasAnswer: boolean;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly enqueuedAt: number;
  readonly startedAt: number | null;
  readonly endedAt: number;
  readonly ranMs: number;
}

/** Where a page of turns ended. */
export type EndPlace = Pick<EndedTurn, "endedAt" | "sessionKey" | "number">;

export interface AdminStore {
  /** The store's time: the smallest read that there is. */
  now(): Promise<number>;
  /** Each count stops at `limit`, but that of owners. */
  counts(limit: number): Promise<StoredCounts>;
  /** The Apps that sessions count as, by name, with how many they are; each count stops at `limit`. */
  apps(limit: number): Promise<readonly { readonly app: string; readonly sessions: number }[]>;
  /** Sessions by their last use, newest first, and of the same moment the youngest first; behind `after`, where that is given. */
  used(query: {
    /** `null` for every App. */
    readonly app: string | null;
    readonly after: UsePlace | null;
    readonly limit: number;
  }): Promise<readonly SeenSession[]>;
  /** Sessions with a turn that has not ended, the youngest session first, of those with a lower key than `below`. */
  open(query: { readonly below: number | null; readonly limit: number }): Promise<readonly SeenSession[]>;
  find(id: string): Promise<SeenSession | null>;
  /** Turns of a session, newest first, of those with a lower number than `below`; `null` when there is no such session. */
  turns(id: string, below: number | null, limit: number): Promise<readonly SeenTurn[] | null>;
  /** Turns that ended from `from` on and before `to`, newest end first; behind `after`, where that is given. */
  ended(query: {
    readonly from: number;
    readonly to: number;
    readonly after: EndPlace | null;
    readonly limit: number;
  }): Promise<readonly EndedTurn[]>;
}

/** Orders sessions by last use, newest first; ties by creation, newest first. */
export function byUse(left: UsePlace, right: UsePlace): number {
  return right.usedAt - left.usedAt || right.key - left.key;
}

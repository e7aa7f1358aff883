// Bounded reads for operators over all Apps and processes. Times are milliseconds since the Unix epoch, on
// the store's clock.

import type { SummaryRecord } from "../../message.ts";
import type { Lease, TurnRecord } from "../../turn.ts";

export interface SeenTurn {
  readonly turn: TurnRecord;
  /** The lease under which the turn runs, or `null`. */
  readonly lease: (Lease & { readonly owner: string }) | null;
  /** Latest expiry of the turn's pending actions; `null` without any. */
  readonly decideBy: number | null;
  /** Why the model ended the turn's last finished step; `null` before one. */
  readonly finishReason: string | null;
}

export interface SeenSession {
  readonly key: number;
  readonly id: string;
  /** As in `SessionRecord`. */
  readonly spelling: string;
  /** The session's App. */
  readonly app: string;
  readonly title: string;
  readonly model: string;
  readonly publicKey: string | null;
  readonly messageCount: number;
  readonly turnCount: number;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly usedAt: number;
  /** The first open turn, or else the last turn; `null` if there is none. */
  readonly turn: SeenTurn | null;
}

/** Position at which a page of sessions ended. */
export interface UsePlace {
  readonly usedAt: number;
  readonly key: number;
}

export interface StoredCounts {
  /** Number of sessions with pending actions. */
  readonly asking: number;
  readonly pendingActions: number;
  /** Owners of valid leases. */
  readonly owners: readonly { readonly owner: string; readonly running: number }[];
}

/** A turn that has ended. */
export interface EndedTurn {
  readonly sessionKey: number;
  readonly number: number;
  readonly app: string;
  readonly state: TurnRecord["state"];
  readonly model: string | null;
  /** True if the model had begun an answer. */
  readonly hasAnswer: boolean;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly enqueuedAt: number;
  readonly startedAt: number | null;
  readonly endedAt: number;
  readonly ranMs: number;
}

/** Metadata of a session's summary. */
export interface SeenSummary extends Omit<SummaryRecord, "text"> {
  readonly turn: number;
}

/** Position at which a page of turns ended. */
export type EndPlace = Pick<EndedTurn, "endedAt" | "sessionKey" | "number">;

export interface AdminStore {
  /** Returns the store's time, by the cheapest possible read. */
  now(): Promise<number>;
  /** Returns the key of the session handles (core/session-handles.ts). Stores `fresh` if there is none. */
  handleKey(fresh: string): Promise<string>;
  /** Each count except owners stops at `limit`. */
  counts(limit: number): Promise<StoredCounts>;
  /** Returns the sessions' Apps by name with their counts; each count stops at `limit`. */
  apps(limit: number): Promise<readonly { readonly app: string; readonly sessions: number }[]>;
  /** Returns sessions by last use, newest first, ties by creation; after `after` if given. */
  used(query: {
    /** `null` for every App. */
    readonly app: string | null;
    readonly after: UsePlace | null;
    readonly limit: number;
  }): Promise<readonly SeenSession[]>;
  /** Returns sessions with an open turn and a key below `below`, youngest first. */
  open(query: { readonly below: number | null; readonly limit: number }): Promise<readonly SeenSession[]>;
  find(id: string): Promise<SeenSession | null>;
  /** Returns a session's turns numbered below `below`, newest first; `null` if there is no such session. */
  turns(id: string, below: number | null, limit: number): Promise<readonly SeenTurn[] | null>;
  /** Returns a session's summaries, oldest first; an empty list if the session does not exist. */
  summaries(id: string): Promise<readonly SeenSummary[]>;
  /** Returns turns that ended from `from` and before `to`, newest first; after `after` if given. */
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

/** Current measurements of this process. */
export interface ProcessGauges {
  liveSessions(): number;
  /** Bytes of all snapshots in memory. */
  snapshotBytes(): number;
  openStreams(): number;
  runningTurns(): number;
}

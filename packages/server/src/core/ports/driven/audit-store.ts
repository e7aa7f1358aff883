// The audit trail in the store. Entries about another change are written in its transaction.

import type { AuditAction, AuditEntry, AuditRecord } from "../../audit.ts";

/** `null` for any. Times are milliseconds since the Unix epoch. */
export interface AuditQuery {
  readonly action: AuditAction | null;
  /** Id or name of the actor. */
  readonly actor: string | null;
  readonly app: string | null;
  readonly target: string | null;
  /** First time. */
  readonly from: number | null;
  /** The first time after the last. */
  readonly to: number | null;
  /** End of the previous page. */
  readonly after: Pick<AuditRecord, "at" | "id"> | null;
  readonly limit: number;
}

export interface AuditStore {
  /** Stores an entry about something that changes nothing in the store. */
  add(entry: AuditEntry): Promise<void>;
  /** Newest first. */
  list(query: AuditQuery): Promise<readonly AuditRecord[]>;
  /** Removes up to `limit` entries from before `before`; returns how many. */
  forget(before: number, limit: number): Promise<number>;
  /** Returns the salt of a user's pseudonym in the trail: `fresh`, unless the user has one. */
  saltOf(owner: string, fresh: string): Promise<string>;
  /**
   * Stores the entry of an erasure, and removes the user's salt in the same transaction, so that no entry can be attributed to the user any
   * more. `owner` is `null` for a wallet.
   */
  endErasure(entry: AuditEntry, owner: string | null): Promise<void>;
}

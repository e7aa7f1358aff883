import type { AuditPage } from "@colloquy/protocol";
import type { AuditEntry } from "../../audit.ts";
import type { AuditQuery } from "../driven/store.ts";

/** Implemented by `createAuditTrail` (admin/audit-trail.ts). */
export interface AuditTrail {
  /** Returns the pseudonym of a user in the trail. */
  subjectOf(owner: string): Promise<string>;
  /**
   * Stores and logs an operation without a transaction of its own. Never rejects: while the store rejects
   * writes, only logs it.
   */
  note(entry: AuditEntry): Promise<void>;
  /** Newest first. @throws InvalidRequest for a cursor that is not of an earlier page */
  list(query: Omit<AuditQuery, "after"> & { readonly cursor: string | null }): Promise<AuditPage>;
}

// Requests of operators to the admin service (admin/administration.ts of the server).

import type { AdminSessionStatus } from "@colloquy/protocol";
import type { Actor } from "../../audit.ts";

/** Period of a report in milliseconds since the Unix epoch; `null` for 24 hours ago, and for now. */
export interface ReportQuery<Bucket extends string> {
  readonly from: number | null;
  readonly to: number | null;
  readonly bucket: Bucket;
}

export interface AdminSessionQuery {
  readonly status: AdminSessionStatus | null;
  readonly app: string | null;
  readonly search: string | null;
  readonly limit: number;
  /** Cursor of an earlier page; any other is an InvalidRequest. */
  readonly cursor: string | null;
}

/** A user as their tokens name them. */
export interface UserName {
  readonly issuer: string;
  readonly subject: string;
}

/** A user, by name or pseudonym, or a wallet; the other fields are `null`. */
export interface Person {
  readonly user: UserName | null;
  /** As `SessionUser.owner`. */
  readonly owner: string | null;
  readonly publicKey: string | null;
  /** `null` for all Apps. */
  readonly app: string | null;
}

/** An operator who reads. */
export interface Reader {
  readonly actor: Actor;
  /**
   * False for operators who may not change sessions. They get handles (core/session-handles.ts) in place of session ids,
   * and no wallet addresses, which list the ids of their threads.
   */
  readonly seesIds: boolean;
}

/** Up to `limit` turns numbered below `before`; `null` for the last ones. */
export interface TurnPage {
  readonly before: number | null;
  readonly limit: number;
}

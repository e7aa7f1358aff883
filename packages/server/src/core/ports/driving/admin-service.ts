// Services behind the admin routes (admin/administration.ts). Requests arrive validated; failures are thrown
// as ServiceError.

import type {
  Action,
  AdminApp,
  AdminKey,
  AdminLatency,
  AdminOverview,
  AdminSession,
  AdminSessionDetail,
  AdminSessionPage,
  AdminSessionStatus,
  AdminUsage,
  AuditPage,
  IssuedAdminKey,
  Thread,
} from "@colloquy/protocol";
import type { Actor } from "../../audit.ts";
import type { ActionAnswer } from "../../commands/decide-action.ts";
import type { Erased, ExportLine } from "./user-data-service.ts";
import type { AuditTrail } from "./audit-service.ts";
import type { KeyService } from "./credentials.ts";
import type { RecordPage } from "./services.ts";

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

/**
 * Administration. Reads accept a session's id or handle, changes its id alone. Methods on a session throw NotFound if there is none, and never create one. Changes by `by`
 * are in the audit trail.
 */
export interface AdminService {
  overview(): Promise<AdminOverview>;
  sessions(query: AdminSessionQuery, by: Reader): Promise<AdminSessionPage>;
  /** Returns the session with up to `limit` turns numbered below `before`. */
  session(
    idOrHandle: string,
    page: { readonly before: number | null; readonly limit: number },
    by: Reader,
  ): Promise<AdminSessionDetail>;
  messages(idOrHandle: string, after: string | null, limit: number, by: Reader): Promise<RecordPage>;
  interrupt(id: string): Promise<AdminSession>;
  /** Decides an action of the session. @throws ServiceError as `ActionService.decide` */
  decide(id: string, action: string, answer: ActionAnswer, by: Actor): Promise<Action>;
  /** Returns the session's id in its original spelling. */
  remove(id: string, by: Actor): Promise<string>;
  /** Makes the user with this issuer and subject the owner of a session; `null` removes the owner. @throws NotFound */
  transfer(id: string, user: UserName | null, by: Actor): Promise<Thread>;
  apps(): Promise<readonly AdminApp[]>;
  usage(query: ReportQuery<AdminUsage["bucket"]>): Promise<AdminUsage>;
  latency(query: ReportQuery<AdminLatency["bucket"]>): Promise<AdminLatency>;
  /** Lists keys, only those that open `app` if given. */
  keys(app: string | null): Promise<readonly AdminKey[]>;
  createKey(input: Parameters<KeyService["create"]>[0], by: Actor): Promise<IssuedAdminKey>;
  revokeKey(id: string, by: Actor): Promise<AdminKey>;
  rotateKey(id: string, overlapMs: number, by: Actor): Promise<IssuedAdminKey>;
  /** The target of the query may be a handle. @throws InvalidRequest as `AuditTrail.list` */
  audit(query: Parameters<AuditTrail["list"]>[0], by: Reader): Promise<AuditPage>;
  /** Exports the data of a user or a wallet. */
  exportUser(person: Person, by: Reader): Promise<AsyncIterable<ExportLine>>;
  eraseUser(person: Person, by: Actor): Promise<Erased>;
}

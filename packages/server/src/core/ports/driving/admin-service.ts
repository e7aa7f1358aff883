// Services behind the admin routes. Requests arrive validated; failures are thrown as ServiceError.

import type {
  AdminApp,
  AdminKey,
  AdminLatency,
  AdminOverview,
  AdminSession,
  AdminSessionDetail,
  AdminSessionPage,
  AdminSessionStatus,
  AdminUsage,
  IssuedAdminKey,
} from "@colloquy/protocol";
import type { KeyService } from "./key-service.ts";
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

/** Administration. Methods on a session throw NotFound if there is none, and never create one. */
export interface AdminService {
  overview(): Promise<AdminOverview>;
  sessions(query: AdminSessionQuery): Promise<AdminSessionPage>;
  /** Returns the session with up to `limit` turns numbered below `before`. */
  session(
    id: string,
    page: { readonly before: number | null; readonly limit: number },
  ): Promise<AdminSessionDetail>;
  messages(id: string, after: string | null, limit: number): Promise<RecordPage>;
  interrupt(id: string): Promise<AdminSession>;
  /** Returns the session's id in its original spelling. */
  remove(id: string): Promise<string>;
  apps(): Promise<readonly AdminApp[]>;
  usage(query: ReportQuery<AdminUsage["bucket"]>): Promise<AdminUsage>;
  latency(query: ReportQuery<AdminLatency["bucket"]>): Promise<AdminLatency>;
  /** Lists keys, only those that open `app` if given. */
  keys(app: string | null): Promise<readonly AdminKey[]>;
  createKey(input: Parameters<KeyService["create"]>[0]): Promise<IssuedAdminKey>;
  revokeKey(id: string): Promise<AdminKey>;
  rotateKey(id: string, overlapMs: number): Promise<IssuedAdminKey>;
}

// What the routes of administration may call. Requests arrive validated; failures are thrown as ServiceError.

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
import type { RecordPage } from "./services.ts";

/** Of which time a report is, in milliseconds since the Unix epoch; `null` for the last 24 hours, and for now. */
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
  /** As an earlier page gave it; a foreign one is an InvalidRequest. */
  readonly cursor: string | null;
}

/** Administration. Methods that name a session throw NotFound when there is none, and never create one. */
export interface AdminService {
  overview(): Promise<AdminOverview>;
  sessions(query: AdminSessionQuery): Promise<AdminSessionPage>;
  /** With up to `limit` turns, of those with a lower number than `before`. */
  session(
    id: string,
    page: { readonly before: number | null; readonly limit: number },
  ): Promise<AdminSessionDetail>;
  messages(id: string, after: string | null, limit: number): Promise<RecordPage>;
  interrupt(id: string): Promise<AdminSession>;
  /** Answers the session's id as it was spelled. */
  remove(id: string): Promise<string>;
  apps(): Promise<readonly AdminApp[]>;
  usage(query: ReportQuery<AdminUsage["bucket"]>): Promise<AdminUsage>;
  latency(query: ReportQuery<AdminLatency["bucket"]>): Promise<AdminLatency>;
  /** Those that open `app`, where it is given. */
  keys(app: string | null): Promise<readonly AdminKey[]>;
  createKey(input: {
    readonly apps: readonly string[];
    readonly name: string | null;
    readonly expiresInMs: number | null;
  }): Promise<IssuedAdminKey>;
  revokeKey(id: string): Promise<AdminKey>;
  rotateKey(id: string, overlapMs: number): Promise<IssuedAdminKey>;
}

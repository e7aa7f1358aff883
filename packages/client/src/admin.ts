// The second entry, `@colloquy/client/admin`, for operators. Separate so that chat pages do not load it.

import { adminKeys, type AdminKeys } from "./admin-keys.ts";
import { adminSessions, type AdminSessions } from "./admin-sessions.ts";
import type {
  AuditAction,
  AuditPage,
  AdminApp,
  AdminFeedbackPage,
  AdminLatency,
  AdminOverview,
  AdminUsage,
} from "./admin-wire.ts";
import type { Erased } from "./operations.ts";
import { type Abortable, type ConnectionOptions, type TokenSource, transportOf } from "./transport.ts";

export { ColloquyError } from "./colloquy-error.ts";
export type { AdminKeys } from "./admin-keys.ts";
export type { AdminSessions } from "./admin-sessions.ts";
export type * from "./admin-wire.ts";

/** A user, by token claims or by the pseudonym that an erasure has logged (`owner`), or a wallet. */
export type Person = {
  /** Limits the operation to one App; all Apps when absent. */
  readonly app?: string | undefined;
} & (
  | { readonly issuer: string; readonly subject: string }
  | { readonly owner: string }
  | { readonly publicKey: string }
);

function queryOf(person: Person): Readonly<Record<string, string | undefined>> {
  const { app } = person;
  if ("publicKey" in person) return { app, public_key: person.publicKey };
  if ("owner" in person) return { app, owner: person.owner };
  return { app, issuer: person.issuer, subject: person.subject };
}

export interface AdminClientOptions extends ConnectionOptions {
  /**
   * The service's `COLLOQUY_ADMIN_KEY`, or a function that returns an operator's token before each request.
   * Never put the key into a page that others load: it grants access to everything.
   */
  readonly key: string | TokenSource;
}

/** Period of a report; the last 24 hours when absent. */
export interface ReportTime extends Abortable {
  readonly from?: Date | undefined;
  readonly to?: Date | undefined;
}

export interface AuditOptions extends ReportTime {
  readonly action?: AuditAction | undefined;
  /** Id or name of the actor. */
  readonly actor?: string | undefined;
  readonly app?: string | undefined;
  /** Id of a session or key. */
  readonly target?: string | undefined;
  readonly limit?: number | undefined;
  /** `next_cursor` of the previous page, requested with the same filter. */
  readonly cursor?: string | undefined;
}

export interface FeedbackFilter extends ReportTime {
  readonly app?: string | undefined;
  readonly score?: -1 | 0 | 1 | undefined;
  readonly limit?: number | undefined;
  /** `next_cursor` of the previous page, requested with the same filter. */
  readonly cursor?: string | undefined;
}

export interface FeedbackTable {
  readonly csv: string;
  /** `cursor` of the next page; `null` on the last one. */
  readonly next_cursor: string | null;
}

export interface AdminClient extends AdminSessions, AdminKeys {
  /**
   * Reads the state of the answering process, queue counts of all processes, and the health of store and bus.
   * Makes the store do one small commit.
   */
  overview(options?: Abortable): Promise<AdminOverview>;
  /** Lists the configured Apps, and removed Apps that still have sessions. */
  listApps(options?: Abortable): Promise<AdminApp[]>;
  /** Reports messages, turns and tokens by time (`hour` when absent), App and model. */
  usage(options?: ReportTime & { readonly bucket?: AdminUsage["bucket"] | undefined }): Promise<AdminUsage>;
  /** Exports the conversations of a user or wallet as JSON Lines. Without a last line of kind `done`, the export is incomplete. */
  exportUser(person: Person, options?: Abortable): Promise<ReadableStream<Uint8Array> | null>;
  /** Permanently deletes the conversations and secrets of a user, or the conversations of a wallet. Safe to repeat after a failure. */
  eraseUser(person: Person, options?: Abortable): Promise<Erased>;
  /** Lists the audit trail, newest first: `limit` entries (1 to 200; 50 when absent) that match the filter. */
  listAudit(options?: AuditOptions): Promise<AuditPage>;
  /** Lists feedback on answers, newest first: `limit` entries (1 to 1,000; 50 when absent) that match the filter. */
  listFeedback(options?: FeedbackFilter): Promise<AdminFeedbackPage>;
  /** Returns a page of `listFeedback` as CSV with a header line. */
  feedbackTable(options?: FeedbackFilter): Promise<FeedbackTable>;
  /** Reports durations of turns by time (`hour` when absent). */
  latency(
    options?: ReportTime & { readonly bucket?: AdminLatency["bucket"] | undefined },
  ): Promise<AdminLatency>;
}

function feedbackRequest({ from, to, signal, ...filter }: FeedbackFilter) {
  const query = { ...filter, from: from?.toISOString(), to: to?.toISOString() };
  return { path: "/api/admin/feedback", query, signal };
}

/**
 * Creates a client of one service's admin API. Failures are `ColloquyError`s, for example `admin_key_invalid`
 * for a wrong key.
 */
export function createAdminClient(options: AdminClientOptions): AdminClient {
  const { key } = options;
  const transport =
    typeof key === "string"
      ? transportOf(options, { Authorization: `Bearer ${key}` })
      : transportOf(options, {}, key);
  const report = <Report>(path: string, options: ReportTime & { readonly bucket?: string | undefined }) => {
    const { from, to, bucket, signal } = options;
    const query = { from: from?.toISOString(), to: to?.toISOString(), bucket };
    return transport.body<Report>({ path, query, repeatable: true, signal });
  };
  return {
    ...adminSessions(transport),
    ...adminKeys(transport),
    overview: ({ signal } = {}) => transport.body({ path: "/api/admin/overview", repeatable: true, signal }),
    listApps: ({ signal } = {}) => transport.body({ path: "/api/admin/apps", repeatable: true, signal }),
    usage: (options = {}) => report("/api/admin/usage", options),
    async exportUser(person, { signal } = {}) {
      return (await transport.open({ path: "/api/admin/users/export", query: queryOf(person), signal })).body;
    },
    eraseUser(person, { signal } = {}) {
      const query = queryOf(person);
      return transport.body({ method: "DELETE", path: "/api/admin/users", query, repeatable: true, signal });
    },
    listAudit(options = {}) {
      const { from, to, signal, ...filter } = options;
      const query = { ...filter, from: from?.toISOString(), to: to?.toISOString() };
      return transport.body({ path: "/api/admin/audit", query, repeatable: true, signal });
    },
    listFeedback(options = {}) {
      return transport.body({ ...feedbackRequest(options), repeatable: true });
    },
    async feedbackTable(options = {}) {
      const request = feedbackRequest(options);
      const response = await transport.open({ ...request, query: { ...request.query, format: "csv" } });
      return { csv: await response.text(), next_cursor: response.headers.get("X-Next-Cursor") };
    },
    latency: (options = {}) => report("/api/admin/latency", options),
  };
}

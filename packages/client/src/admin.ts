// The second entry, `@colloquy/client/admin`, for operators. Separate so that chat pages do not load it.

import { adminKeys, type AdminKeys } from "./admin-keys.ts";
import { adminSessions, type AdminSessions } from "./admin-sessions.ts";
import type { AdminApp, AdminLatency, AdminOverview, AdminUsage } from "./admin-wire.ts";
import { type Abortable, type ConnectionOptions, transportOf } from "./transport.ts";

export { ColloquyError } from "./colloquy-error.ts";
export type { AdminKeys } from "./admin-keys.ts";
export type { AdminSessions } from "./admin-sessions.ts";
export type * from "./admin-wire.ts";

export interface AdminClientOptions extends ConnectionOptions {
  /**
   * The service's `COLLOQUY_ADMIN_KEY`. Never put it into a page that others load: it grants access to
   * everything.
   */
  readonly key: string;
}

/** Period of a report; the last 24 hours when absent. */
export interface ReportTime extends Abortable {
  readonly from?: Date;
  readonly to?: Date;
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
  usage(options?: ReportTime & { readonly bucket?: AdminUsage["bucket"] }): Promise<AdminUsage>;
  /** Reports durations of turns by time (`hour` when absent). */
  latency(options?: ReportTime & { readonly bucket?: AdminLatency["bucket"] }): Promise<AdminLatency>;
}

/**
 * Creates a client of one service's admin API. Failures are `ColloquyError`s, for example `admin_key_invalid`
 * for a wrong key.
 */
export function createAdminClient(options: AdminClientOptions): AdminClient {
  const transport = transportOf(options, { Authorization: `Bearer ${options.key}` });
  const report = <Report>(path: string, options: ReportTime & { readonly bucket?: string }) => {
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
    latency: (options = {}) => report("/api/admin/latency", options),
  };
}

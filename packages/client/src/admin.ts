// The second entry, `@colloquy/client/admin`: what an operator sees and does. Apart from the first, so that pages do not load what they do not use.

import { administeredKeys, type AdministeredKeys } from "./administered-keys.ts";
import { administeredSessions, type AdministeredSessions } from "./administered-sessions.ts";
import type { AdminApp, AdminLatency, AdminOverview, AdminUsage } from "./admin-wire.ts";
import { type Abortable, type ConnectionOptions, transportOf } from "./transport.ts";

export { ColloquyError } from "./colloquy-error.ts";
export type { AdministeredKeys } from "./administered-keys.ts";
export type { AdministeredSessions } from "./administered-sessions.ts";
export type * from "./admin-wire.ts";

export interface AdminClientOptions extends ConnectionOptions {
  /** The service's `COLLOQUY_ADMIN_KEY`. Never for a page that others load: it opens everything. */
  readonly key: string;
}

/** Of which time a report is; the last 24 hours until now when absent. */
export interface ReportTime extends Abortable {
  readonly from?: Date;
  readonly to?: Date;
}

export interface AdminClient extends AdministeredSessions, AdministeredKeys {
  /** The process that answers, what runs and waits everywhere, and the health of store and bus. Costs the store a small commit. */
  overview(options?: Abortable): Promise<AdminOverview>;
  /** The configured Apps, and those that are gone and still have sessions. */
  listApps(options?: Abortable): Promise<AdminApp[]>;
  /** Messages, turns and tokens by time (`hour` when absent), App and model. */
  usage(options?: ReportTime & { readonly bucket?: AdminUsage["bucket"] }): Promise<AdminUsage>;
  /** How long turns took, by time (`hour` when absent). */
  latency(options?: ReportTime & { readonly bucket?: AdminLatency["bucket"] }): Promise<AdminLatency>;
}

/** A client of one service's administration. Failures are `ColloquyError`s: `admin_key_invalid` for a wrong key. */
export function createAdminClient(options: AdminClientOptions): AdminClient {
  const transport = transportOf(options, { Authorization: `Bearer ${options.key}` });
  const report = <Report>(path: string, options: ReportTime & { readonly bucket?: string }) => {
    const { from, to, bucket, signal } = options;
    const query = { from: from?.toISOString(), to: to?.toISOString(), bucket };
    return transport.body<Report>({ path, query, repeatable: true, signal });
  };
  return {
    ...administeredSessions(transport),
    ...administeredKeys(transport),
    overview: ({ signal } = {}) => transport.body({ path: "/api/admin/overview", repeatable: true, signal }),
    listApps: ({ signal } = {}) => transport.body({ path: "/api/admin/apps", repeatable: true, signal }),
    usage: (options = {}) => report("/api/admin/usage", options),
    latency: (options = {}) => report("/api/admin/latency", options),
  };
}

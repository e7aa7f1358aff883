// Assembles the admin service for the HTTP routes.

import type { ConversationService, ThreadService } from "../core/ports/driving/services.ts";
import type { AdminService } from "../core/ports/driving/admin-service.ts";
import type { KeyService } from "../core/ports/driving/key-service.ts";
import { listApps, type AdminAppsOptions } from "./apps.ts";
import { createOverview, type OverviewOptions } from "./overview.ts";
import { reportLatency, reportUsage } from "./reports.ts";
import { listSessions, seeSession, seeSessionWithTurns, type AdminSessionsOptions } from "./sessions.ts";
import { toAdminKey, toIssuedKey } from "./wire.ts";

export interface AdministrationOptions extends OverviewOptions {
  readonly limits: AdminSessionsOptions["limits"];
  readonly conversations: Pick<ConversationService, "interruptExisting">;
  readonly threads: Pick<ThreadService, "messages" | "remove">;
  readonly catalog: AdminAppsOptions["catalog"];
  readonly tools: AdminAppsOptions["tools"];
  readonly keys: KeyService;
}

export function createAdministration(options: AdministrationOptions): AdminService {
  const { conversations, threads, catalog, tools, keys, limits } = options;
  const store = options.store.admin;
  const stored = { store, limits };
  return {
    overview: createOverview(options),
    sessions: (query) => listSessions(stored, query),
    session: (id, page) => seeSessionWithTurns(stored, id, page),
    messages: (id, after, limit) => threads.messages(id, after, limit),
    interrupt: async (id) => {
      await conversations.interruptExisting(id);
      return await seeSession(stored, id);
    },
    remove: (id) => threads.remove(id),
    apps: () => listApps({ store, catalog, keys, tools }),
    usage: (query) => reportUsage({ store }, query),
    latency: (query) => reportLatency({ store }, query),
    keys: async (app) => {
      const listed = await keys.list();
      return listed.filter(({ apps }) => app === null || apps.includes(app)).map(toAdminKey);
    },
    createKey: async (input) => toIssuedKey(await keys.create(input)),
    revokeKey: async (id) => toAdminKey(await keys.revoke(id)),
    rotateKey: async (id, overlapMs) => toIssuedKey(await keys.rotate(id, overlapMs)),
  };
}

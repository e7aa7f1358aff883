// Assembles the admin service for the HTTP routes.

import type { AdminApp, AdminSession } from "@colloquy/protocol";
import type { Actor } from "../core/audit.ts";
import type { UserDataService } from "../core/ports/driving/user-data-service.ts";
import type { AuditTrail } from "../core/ports/driving/audit-service.ts";
import type { ActionService, ConversationService, ThreadService } from "../core/ports/driving/services.ts";
import type { SessionsOf } from "../core/ports/driven/session-store.ts";
import type { AdminService, Person } from "../core/ports/driving/admin-service.ts";
import type { KeyService, UserTokens } from "../core/ports/driving/credentials.ts";
import type { ToolSourceReports } from "../core/ports/driven/tool.ts";
import type { AdminStore } from "../core/ports/driven/admin-store.ts";
import type { AppCatalog } from "../core/ports/driven/apps.ts";
import { DEFAULT_APP } from "../core/session.ts";
import type { SessionHandles } from "../core/session-handles.ts";
import { createOverview, type OverviewOptions } from "./overview.ts";
import { reportLatency, reportUsage } from "./reports.ts";
import { type AdminSessionsOptions, listSessions, seeSession, seeSessionWithTurns } from "./sessions.ts";
import { createHiding } from "./hidden-ids.ts";
import { toAdminKey, toIssuedKey } from "./wire.ts";

export interface AdministrationOptions extends OverviewOptions {
  readonly limits: AdminSessionsOptions["limits"];
  readonly handles: SessionHandles;
  readonly conversations: Pick<ConversationService, "interruptExisting">;
  readonly actions: Pick<ActionService, "pending" | "decide">;
  readonly threads: Pick<ThreadService, "messages" | "remove" | "transfer">;
  readonly users: Pick<UserTokens, "ownerOf">;
  readonly catalog: AdminAppsOptions["catalog"];
  readonly tools: AdminAppsOptions["tools"];
  readonly keys: KeyService;
  readonly audit: AuditTrail;
  readonly userData: UserDataService;
}

export function createAdministration(options: AdministrationOptions): AdminService {
  const { conversations, actions, threads, users, catalog, tools, keys, limits, audit, userData } = options;
  const { handles } = options;
  const store = options.store.admin;
  const stored = { store, limits, handles };
  const shown = createHiding(handles);
  return {
    overview: createOverview(options),
    sessions: async (query, by) => shown.page(await listSessions(stored, query), by),
    session: async (idOrHandle, page, by) => {
      const id = handles.idOf(idOrHandle);
      const [seen, pending] = await Promise.all([seeSessionWithTurns(stored, id, page), actions.pending(id)]);
      await noteRead(audit, seen.session, by.actor);
      return shown.detail({ ...seen, pending_actions: [...pending] }, by);
    },
    messages: async (idOrHandle, after, limit, by) => {
      const id = handles.idOf(idOrHandle);
      const page = await threads.messages(id, after, limit, null);
      await noteRead(audit, await seeSession(stored, id), by.actor);
      return shown.messages(page, by);
    },
    interrupt: async (id) => {
      await conversations.interruptExisting(id);
      return await seeSession(stored, id);
    },
    decide: (id, action, answer, by) => actions.decide(id, action, answer, null, by),
    remove: (id, by) => threads.remove(id, null, by),
    transfer: async (id, user, by) => {
      if (user === null) return await threads.transfer(id, { owner: null, subject: null }, by);
      const owner = users.ownerOf(user.issuer, user.subject);
      return await threads.transfer(id, { owner, subject: await audit.subjectOf(owner) }, by);
    },
    audit: async (query, by) => {
      const target = query.target === null ? null : handles.idOf(query.target);
      return shown.audit(await audit.list({ ...query, target }), by);
    },
    exportUser: async (person, by) => shown.export(userData.export(sessionsOf(person, users), by.actor), by),
    eraseUser: (person, by) => userData.erase(sessionsOf(person, users), by),
    apps: () => listApps({ store, catalog, keys, tools }),
    usage: (query) => reportUsage({ store }, query),
    latency: (query) => reportLatency({ store }, query),
    ...manageKeys(keys),
  };
}

async function noteRead(audit: AuditTrail, { session_id, app }: AdminSession, by: Actor): Promise<void> {
  await audit.note({ action: "session_read", actor: by, app, target: session_id, details: {} });
}

function sessionsOf({ user, owner, publicKey, app }: Person, users: Pick<UserTokens, "ownerOf">): SessionsOf {
  return { owner: user === null ? owner : users.ownerOf(user.issuer, user.subject), publicKey, app };
}

export type KeyManagement = Pick<AdminService, "keys" | "createKey" | "revokeKey" | "rotateKey">;

/** The part that manages App keys, for the command line too. */
export function manageKeys(keys: KeyService): KeyManagement {
  return {
    keys: async (app) => {
      const listed = await keys.list();
      return listed.filter(({ apps }) => app === null || apps.includes(app)).map(toAdminKey);
    },
    createKey: async (input, by) => toIssuedKey(await keys.create(input, by)),
    revokeKey: async (id, by) => toAdminKey(await keys.revoke(id, by)),
    rotateKey: async (id, overlapMs, by) => toIssuedKey(await keys.rotate(id, overlapMs, by)),
  };
}

/** Counting the sessions of an App stops here. */
const COUNTED_TO = 10_000;

interface AdminAppsOptions {
  readonly store: Pick<AdminStore, "apps">;
  readonly catalog: AppCatalog;
  readonly keys: Pick<KeyService, "list">;
  readonly tools: ToolSourceReports;
}

/** Returns the configured Apps in order, then removed Apps that still have sessions or keys. */
async function listApps({ store, catalog, keys, tools }: AdminAppsOptions): Promise<AdminApp[]> {
  const [counted, listed] = await Promise.all([store.apps(COUNTED_TO), keys.list()]);
  const sessions = new Map(counted.map(({ app, sessions }) => [app, sessions]));
  const valid = listed.filter(({ status }) => status === "good");
  const configured = catalog.names();
  const others = new Set([...sessions.keys(), ...valid.flatMap(({ apps }) => apps)]);
  const removed = [...others].filter((name) => !configured.includes(name)).toSorted();
  return [...configured, ...removed].map((name) => {
    const app = catalog.get(name);
    return {
      name,
      description: app?.description ?? null,
      is_configured: app !== null,
      models: [...(app?.models ?? [])],
      utility_model: app?.utilityModel ?? null,
      // The setting of a removed App is unknown, and its sessions are closed.
      require_key: name === DEFAULT_APP ? "never" : (app?.requireKey ?? "all"),
      tool_sources: [...tools.sources(name)],
      good_keys: valid.filter(({ apps }) => apps.includes(name)).length,
      sessions: sessions.get(name) ?? 0,
      counted_to: COUNTED_TO,
    };
  });
}

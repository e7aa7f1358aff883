// Assembles the admin service for the HTTP routes.

import type {
  Action,
  AdminApp,
  AdminFeedbackPage,
  AdminKey,
  AdminLatency,
  AdminSession,
  AdminSessionDetail,
  AdminSessionPage,
  AdminUsage,
  AuditPage,
  IssuedAdminKey,
  Thread,
} from "@colloquy/protocol";
import type { KeyAdministration } from "@colloquy/engine/internal/apps/keys/key-administration";
import type { CheckedTokens } from "@colloquy/engine/internal/apps/users/user-tokens";
import type { Actor } from "@colloquy/engine/internal/core/audit";
import type { ActionAnswer } from "@colloquy/engine/internal/core/commands/decide-action";
import type {
  AdminSessionQuery,
  Person,
  Reader,
  ReportQuery,
  TurnPage,
  UserName,
} from "@colloquy/engine/internal/core/ports/driving/admin-service";
import type { NewKey } from "@colloquy/engine/internal/core/ports/driving/credentials";
import type { RecordPage } from "@colloquy/engine/internal/core/ports/driving/services";
import type { Erased, ExportLine } from "@colloquy/engine/internal/core/ports/driving/user-data-service";
import type { SessionsOf } from "@colloquy/engine/internal/core/ports/driven/session-store";
import type { Actions } from "@colloquy/engine/internal/sessions/actions";
import type { AuditListQuery, AuditTrail } from "@colloquy/engine/internal/sessions/audit-trail";
import type { Conversations } from "@colloquy/engine/internal/sessions/conversations";
import type { Threads } from "@colloquy/engine/internal/sessions/threads";
import type { UserData } from "@colloquy/engine/internal/sessions/user-data";
import type { ToolSourceReports } from "@colloquy/engine/internal/core/ports/driven/tool";
import type { AdminStore } from "@colloquy/engine/internal/core/ports/driven/admin-store";
import type { AppCatalog } from "@colloquy/engine/internal/core/ports/driven/apps";
import { DEFAULT_APP } from "@colloquy/engine/internal/core/session";
import type { SessionHandles } from "@colloquy/engine/internal/core/session-handles";
import { createOverview, type OverviewOptions } from "./overview.ts";
import { reportLatency, reportUsage } from "./reports.ts";
import { type AdminSessionsOptions, listSessions, seeSession, seeSessionWithTurns } from "./sessions.ts";
import { type FeedbackListQuery, listFeedback } from "./feedback.ts";
import { createHiding } from "./hidden-ids.ts";
import { toAdminKey, toIssuedKey } from "./wire.ts";

type KeyService = Pick<KeyAdministration, "create" | "list" | "revoke" | "rotate">;

export interface AdministrationOptions extends OverviewOptions {
  readonly limits: AdminSessionsOptions["limits"];
  readonly handles: SessionHandles;
  readonly conversations: Pick<Conversations, "interruptExisting">;
  readonly actions: Pick<Actions, "pending" | "decide">;
  readonly threads: Pick<Threads, "messages" | "remove" | "transfer">;
  readonly users: Pick<CheckedTokens, "ownerOf">;
  readonly catalog: AdminAppsOptions["catalog"];
  readonly tools: AdminAppsOptions["tools"];
  readonly keys: KeyService;
  readonly audit: AuditTrail;
  readonly userData: Pick<UserData, "erase" | "export">;
}

export type AdminService = ReturnType<typeof createAdministration>;

/**
 * Creates the services behind the admin routes. Requests arrive validated; failures are thrown as
 * `ServiceError`. Reads accept a session's id or handle, changes its id alone. Methods on a session throw
 * `NotFound` if there is none, and never create one. Changes by an actor are in the audit trail.
 */
export function createAdministration(options: AdministrationOptions) {
  const { conversations, actions, threads, users, catalog, tools, keys, limits, audit, userData } = options;
  const { handles } = options;
  const store = options.store.admin;
  const stored = { store, limits, handles };
  const shown = createHiding(handles);
  return {
    overview: createOverview(options),
    async sessions(query: AdminSessionQuery, by: Reader): Promise<AdminSessionPage> {
      return shown.page(await listSessions(stored, query), by);
    },
    /** Returns the session with a page of its turns. */
    async session(idOrHandle: string, page: TurnPage, by: Reader): Promise<AdminSessionDetail> {
      const id = handles.idOf(idOrHandle);
      const [seen, pending] = await Promise.all([seeSessionWithTurns(stored, id, page), actions.pending(id)]);
      await noteRead(audit, seen.session, by.actor);
      return shown.detail({ ...seen, pending_actions: [...pending] }, by);
    },
    async messages(idOrHandle: string, after: string | null, limit: number, by: Reader): Promise<RecordPage> {
      const id = handles.idOf(idOrHandle);
      const page = await threads.messages(id, after, limit, null);
      await noteRead(audit, await seeSession(stored, id), by.actor);
      return shown.messages(page, by);
    },
    async interrupt(id: string): Promise<AdminSession> {
      await conversations.interruptExisting(id);
      return await seeSession(stored, id);
    },
    /** Decides an action of the session. @throws ServiceError as `Actions.decide` */
    decide: (id: string, action: string, answer: ActionAnswer, by: Actor): Promise<Action> =>
      actions.decide(id, action, answer, null, by),
    /** Returns the session's id in its original spelling. */
    remove: (id: string, by: Actor): Promise<string> => threads.remove(id, null, by),
    /** Makes the user the owner of a session; `null` removes the owner. @throws NotFound */
    async transfer(id: string, user: UserName | null, by: Actor): Promise<Thread> {
      if (user === null) return await threads.transfer(id, { owner: null, subject: null }, by);
      const owner = users.ownerOf(user.issuer, user.subject);
      return await threads.transfer(id, { owner, subject: await audit.subjectOf(owner) }, by);
    },
    /** The target of the query may be a handle. @throws InvalidRequest as `AuditTrail.list` */
    async audit(query: AuditListQuery, by: Reader): Promise<AuditPage> {
      const target = query.target === null ? null : handles.idOf(query.target);
      return shown.audit(await audit.list({ ...query, target }), by);
    },
    /** @throws InvalidRequest for a cursor that is not of an earlier page */
    feedback: async (query: FeedbackListQuery, by: Reader): Promise<AdminFeedbackPage> =>
      shown.feedback(await listFeedback(options.store.feedback, query), by),
    /** Exports the data of a user or a wallet. */
    exportUser: async (person: Person, by: Reader): Promise<AsyncIterable<ExportLine>> =>
      shown.export(userData.export(sessionsOf(person, users), by.actor), by),
    eraseUser: (person: Person, by: Actor): Promise<Erased> => userData.erase(sessionsOf(person, users), by),
    apps: (): Promise<readonly AdminApp[]> => listApps({ store, catalog, keys, tools }),
    usage: (query: ReportQuery<AdminUsage["bucket"]>): Promise<AdminUsage> => reportUsage({ store }, query),
    latency: (query: ReportQuery<AdminLatency["bucket"]>): Promise<AdminLatency> =>
      reportLatency({ store }, query),
    ...manageKeys(keys),
  };
}

async function noteRead(audit: AuditTrail, { session_id, app }: AdminSession, by: Actor): Promise<void> {
  await audit.note({ action: "session_read", actor: by, app, target: session_id, details: {} });
}

function sessionsOf(
  { user, owner, publicKey, app }: Person,
  users: Pick<CheckedTokens, "ownerOf">,
): SessionsOf {
  return { owner: user === null ? owner : users.ownerOf(user.issuer, user.subject), publicKey, app };
}

export type KeyManagement = ReturnType<typeof manageKeys>;

/** The part that manages App keys, for the command line too. */
export function manageKeys(keys: KeyService) {
  return {
    /** Lists keys, only those that open `app` if given. */
    async keys(app: string | null): Promise<readonly AdminKey[]> {
      const listed = await keys.list();
      return listed.filter(({ apps }) => app === null || apps.includes(app)).map(toAdminKey);
    },
    createKey: async (input: NewKey, by: Actor): Promise<IssuedAdminKey> =>
      toIssuedKey(await keys.create(input, by)),
    revokeKey: async (id: string, by: Actor): Promise<AdminKey> => toAdminKey(await keys.revoke(id, by)),
    rotateKey: async (id: string, overlapMs: number, by: Actor): Promise<IssuedAdminKey> =>
      toIssuedKey(await keys.rotate(id, overlapMs, by)),
  };
}

/** Counting the sessions of an App stops here. */
const COUNTED_TO = 10_000;

interface AdminAppsOptions {
  readonly store: Pick<AdminStore, "apps">;
  readonly catalog: AppCatalog;
  readonly keys: Pick<KeyAdministration, "list">;
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

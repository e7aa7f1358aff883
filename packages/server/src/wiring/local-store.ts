// Opens the configured store for administrative commands, beside a running server or without one (contract section 7).

import { userInfo } from "node:os";
import type { AdminFeedbackPage, AdminSession, AdminSessionPage } from "@colloquy/protocol";
import { createAuditTrail } from "@colloquy/engine/internal/sessions/audit-trail";
import { manageKeys, type KeyManagement } from "../admin/administration.ts";
import { type FeedbackListQuery, listFeedback } from "../admin/feedback.ts";
import { listSessions } from "../admin/sessions.ts";
import { toAdminSession } from "../admin/wire.ts";
import { KeyAdministration } from "@colloquy/engine/internal/apps/keys/key-administration";
import type { Rotation } from "@colloquy/engine/internal/apps/secrets/rotation";
import { SERVICE_ACTOR, type Actor } from "@colloquy/engine/internal/core/audit";
import type { BackendPlugin, Chosen } from "@colloquy/engine/internal/core/plugins/backend";
import type { ChosenFileStore, FileStore } from "@colloquy/engine/internal/core/plugins/file-store";
import { Hidden } from "@colloquy/engine/internal/core/hidden";
import type { Logger } from "@colloquy/engine/internal/core/ports/driven/logger";
import type { Store } from "@colloquy/engine/internal/core/ports/driven/store";
import type { TableAccess, TableStore } from "@colloquy/engine/internal/core/ports/driven/table-store";
import type { AuditTrail } from "@colloquy/engine/internal/sessions/audit-trail";
import type { AdminSessionQuery } from "@colloquy/engine/internal/core/ports/driving/admin-service";
import type { SessionHandles } from "@colloquy/engine/internal/core/session-handles";
import type { HealthLimits } from "@colloquy/engine/internal/core/turn-health";
import { directory as directoryFiles } from "@colloquy/engine/internal/files/directory";
import { sqlite } from "@colloquy/engine/internal/store/sqlite/plugin";
import { createSystemClock } from "@colloquy/engine/internal/wiring/clock";
import { rotateMaster } from "@colloquy/engine/internal/wiring/master-keys";
import { openFiles, readHandles } from "@colloquy/engine/internal/wiring/storage";

export interface LocalStoreSettings {
  /** Absolute path. */
  readonly dataDirectory: string;
  /** `COLLOQUY_SECRET_KEY`, or `null` if it is not set. */
  readonly secretKey: Hidden<string> | null;
  /** Absent for SQLite in the data directory. */
  readonly backend?: Chosen<BackendPlugin>;
  /** Absent for the directory `files` in the data directory. */
  readonly files?: ChosenFileStore;
}

/** `existing`: the command must not create a database. */
export type DatabaseNeed = "existing" | "made when absent";

export interface LocalStore {
  readonly store: Store;
  readonly settings: LocalStoreSettings;
  /** Manages App keys; `apps` are the configured Apps, which only `createKey` needs. */
  keys(apps: readonly string[]): KeyManagement;
  readonly audit: AuditTrail;
  feedback(query: FeedbackListQuery): Promise<AdminFeedbackPage>;
  /** Returns the session handles, as in the log. */
  handles(): Promise<SessionHandles>;
  /** Milliseconds since the Unix epoch. */
  now(): number;
  /** The operator who runs the command, for the audit trail. */
  readonly actor: Actor;
  /** Sessions as the admin API shows them. */
  sessions(limits: HealthLimits): {
    list(query: AdminSessionQuery): Promise<AdminSessionPage>;
    /** Returns `null` if the session does not exist. */
    find(idOrHandle: string): Promise<AdminSession | null>;
  };
  /** Seals all secrets with a new master key. `discardUnreadable` removes secrets that no key can open. */
  rotateMaster(discardUnreadable: boolean): Promise<Rotation>;
  /** Runs `work` on the tables of the same database. */
  withTables<Result>(access: TableAccess, work: (store: TableStore) => Promise<Result>): Promise<Result>;
  /** Runs `work` with the file store open. */
  withFiles<Result>(work: (files: FileStore) => Promise<Result>): Promise<Result>;
  /** Closes the store after the calls in progress. */
  close(): Promise<void>;
}

/**
 * Rejects with a user-facing message if the store cannot be opened, and with `NoDatabase` if a required
 * database does not exist.
 */
export async function openLocalStore(
  settings: LocalStoreSettings,
  need: DatabaseNeed = "made when absent",
): Promise<LocalStore> {
  const clock = createSystemClock();
  const { dataDirectory: directory, backend = DEFAULT } = settings;
  const { plugin } = backend;
  const store = await plugin.open(backend.settings.reveal(), {
    role: "command",
    mayCreate: need !== "existing",
    directory,
    processId: null,
    clock,
    logger: NO_LOG,
    onFatal: () => undefined,
    onServerChange: () => undefined,
  });
  return {
    store,
    settings,
    keys: (apps) => manageKeys(new KeyAdministration({ store: store.keys, clock, apps: () => apps })),
    handles: () => readHandles(store),
    now: () => clock.now(),
    actor: { ...SERVICE_ACTOR, kind: "command_line", name: userInfo().username },
    feedback: (query) => listFeedback(store.feedback, query),
    audit: createAuditTrail({ store: store.audit, logger: NO_LOG }),
    sessions: (limits) => ({
      list: async (query) =>
        listSessions({ store: store.admin, limits, handles: await readHandles(store) }, query),
      find: async (idOrHandle) => {
        const handles = await readHandles(store);
        const seen = await store.admin.find(handles.idOf(idOrHandle));
        return seen === null ? null : toAdminSession(seen, await store.admin.now(), { limits, handles });
      },
    }),
    rotateMaster: (discardUnreadable) =>
      rotateMaster({ ...settings, isShared: plugin.nodes !== undefined }, store.secrets, discardUnreadable),
    withTables: async (access, work) => {
      const { withTablesOf } = await import("../moving/database-address.ts");
      const context = { directory, access, at: clock.now() };
      return await withTablesOf(plugin, backend.settings.reveal(), context, work);
    },
    withFiles: async (work) => {
      const chosen = settings.files ?? { plugin: directoryFiles, settings: new Hidden({}) };
      const files = await openFiles({ files: chosen }, { directory, clock, logger: NO_LOG });
      try {
        return await work(files);
      } finally {
        await files.close();
      }
    },
    close: () => store.close(),
  };
}

const DEFAULT: Chosen<BackendPlugin> = { plugin: sqlite, settings: new Hidden({}) };
const NO_LOG: Logger = { debug() {}, info() {}, warn() {}, error() {} };

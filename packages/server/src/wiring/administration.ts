// Opens the configured store for administrative commands, beside a running server or without one (contract section 7).

import { userInfo } from "node:os";
import type { AdminSession, AdminSessionPage } from "@colloquy/protocol";
import { createAuditTrail } from "../admin/audit-trail.ts";
import { manageKeys, type KeyManagement } from "../admin/administration.ts";
import { listSessions } from "../admin/sessions.ts";
import { toAdminSession } from "../admin/wire.ts";
import { KeyAdministration } from "../apps/keys/key-administration.ts";
import type { Rotation } from "../apps/secrets/rotation.ts";
import { SERVICE_ACTOR, type Actor } from "../core/audit.ts";
import type { Hidden } from "../core/hidden.ts";
import type { Clock } from "../core/ports/driven/clock.ts";
import type { Logger } from "../core/ports/driven/logger.ts";
import type { Store } from "../core/ports/driven/store.ts";
import type { TableAccess, TableStore } from "../core/ports/driven/table-store.ts";
import type { AuditTrail } from "../core/ports/driving/audit-service.ts";
import type { AdminSessionQuery } from "../core/ports/driving/admin-service.ts";
import type { SessionHandles } from "../core/session-handles.ts";
import { NoDatabase } from "../core/errors.ts";
import type { HealthLimits } from "../core/turn-health.ts";
import type { DatabaseAddress } from "../moving/database-address.ts";
import { hasDatabase } from "../store/sqlite/data-directory.ts";
import { openSqliteStore } from "../store/sqlite/open.ts";
import { createSystemClock } from "./clock.ts";
import { rotateMaster } from "./master-keys.ts";
import { readHandles } from "./storage.ts";

export interface AdministrationSettings {
  /** Absolute path. */
  readonly dataDirectory: string;
  /** `COLLOQUY_SECRET_KEY`, or `null` if it is not set. */
  readonly secretKey: Hidden<string> | null;
  /** `COLLOQUY_DATABASE_URL`, `null` or absent for SQLite in the data directory. */
  readonly databaseUrl?: string | null;
}

/** `existing`: the command must not create a database. */
export type DatabaseNeed = "existing" | "made when absent";

export interface Administration {
  readonly store: Store;
  readonly settings: AdministrationSettings;
  /** Manages App keys; `apps` are the configured Apps, which only `createKey` needs. */
  keys(apps: readonly string[]): KeyManagement;
  readonly audit: AuditTrail;
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
  /** Closes the store after the calls in progress. */
  close(): Promise<void>;
}

/**
 * Rejects with a user-facing message if the store cannot be opened, and with `NoDatabase` if a required
 * database does not exist.
 */
export async function openAdministration(
  settings: AdministrationSettings,
  need: DatabaseNeed = "made when absent",
): Promise<Administration> {
  const clock = createSystemClock();
  const { dataDirectory, databaseUrl = null } = settings;
  if (need === "existing" && databaseUrl === null && !hasDatabase(dataDirectory)) {
    throw new NoDatabase(dataDirectory);
  }
  const store = await openStore(settings, clock);
  return {
    store,
    settings,
    keys: (apps) => manageKeys(new KeyAdministration({ store: store.keys, clock, apps: () => apps })),
    handles: () => readHandles(store),
    now: () => clock.now(),
    actor: { ...SERVICE_ACTOR, kind: "command_line", name: userInfo().username },
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
      rotateMaster({ ...settings, isShared: databaseUrl !== null }, store.secrets, discardUnreadable),
    withTables: async (access, work) => {
      const { withTables } = await import("../moving/database-address.ts");
      const address: DatabaseAddress =
        databaseUrl === null
          ? { kind: "sqlite", directory: dataDirectory }
          : { kind: "postgres", url: databaseUrl };
      return await withTables(address, { access, at: clock.now() }, work);
    },
    close: () => store.close(),
  };
}

const NO_LOG: Logger = { debug() {}, info() {}, warn() {}, error() {} };

async function openStore(
  { dataDirectory, databaseUrl = null }: AdministrationSettings,
  clock: Clock,
): Promise<Store> {
  if (databaseUrl === null) {
    const onFatal = (): void => {};
    return await openSqliteStore({ directory: dataDirectory, role: "administration", clock, onFatal });
  }
  const [{ openPostgresStore }, { refusingToStart }] = await Promise.all([
    import("../store/postgres/open.ts"),
    import("../store/postgres/server-check.ts"),
  ]);
  return await refusingToStart(() => openPostgresStore({ url: databaseUrl, connections: 2 }));
}

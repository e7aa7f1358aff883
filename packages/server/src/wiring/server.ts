// Opens the foundations of the service, builds it, and starts and stops it.

import { existsSync } from "node:fs";
import { join } from "node:path";
import type { LanguageModelV4 } from "@ai-sdk/provider";
import { Registry as MetricsRegister } from "prom-client";
import manifest from "../../package.json" with { type: "json" };
import { createAdministration } from "../admin/administration.ts";
import { KeyAdministration } from "../apps/keys/key-administration.ts";
import { operatorTokens } from "../apps/users/operator-tokens.ts";
import { createSecretService } from "../apps/secrets/vault.ts";
import type { Config } from "../config/config.ts";
import { SERVICE_ACTOR } from "../core/audit.ts";
import type { SessionHandles } from "../core/session-handles.ts";
import type { Clock } from "../core/ports/driven/clock.ts";
import type { Logger } from "../core/ports/driven/logger.ts";
import type { Store } from "../core/ports/driven/store.ts";
import type { Readiness } from "../core/ports/driving/services.ts";
import { buildHttp } from "../http/app.ts";
import type { HttpApp } from "../http/routes/route-parts.ts";
import { OpenConnections } from "../http/connections.ts";
import { aiSdkRoutes } from "../protocols/ai-sdk/routes.ts";
import { forgetAddress, noteAddress } from "../store/sqlite/served-address.ts";
import { createSystemClock } from "./clock.ts";
import { masterKeySettings, openVault } from "./master-keys.ts";
import { createBusMetrics, createLogMetrics, createReadiness } from "./operations.ts";
import { buildService, type Service } from "./service.ts";
import { aloneWith, openStorage, readHandles, type Storage } from "./storage.ts";

export interface ServerOverrides {
  readonly logger: Logger;
  /** Returns the number of log lines that could not be written; absent if they are not counted. */
  readonly logLinesLeftOut?: () => number;
  /** Gets the session handles of the store, for the log. */
  readonly useHandles?: (handles: SessionHandles) => void;
  /** Called when the process must end at once because its store can no longer be trusted. */
  readonly onFatal: (error: Error) => void;
  readonly clock?: Clock;
  /** Id of this process, shown to a second server on the same data directory. */
  readonly processId?: number;
  /** True for a private server, which does not record its address beside its data. `false` by default. */
  readonly isHidden?: boolean;
  /** Models by rig, in addition to the configured ones. */
  readonly models?: Readonly<Record<string, LanguageModelV4>>;
  /** An open, otherwise unused store instead of the configured one; the server closes it. */
  readonly store?: Store;
}

export interface ColloquyServer {
  /** True if this installation has the guide. */
  readonly hasGuide: boolean;
  /** Recovers from a crash, then accepts requests. */
  listen(): Promise<{ readonly url: string }>;
  /** Stops gracefully: running turns get `graceMs` milliseconds to end. */
  stop(options: { readonly graceMs: number }): Promise<void>;
  /** Runs the periodic cleanup now. */
  cleanUp(): Promise<void>;
  /** Replaces Apps, models, tools and providers without interrupting turns. Returns warnings about changes that need a restart. */
  reload(config: Config): readonly string[];
}

/** Maximum milliseconds for responses in progress, after everything else has stopped. */
const CLOSING_MS = 2_000;
const fromHere = (path: string): string => join(import.meta.dirname, path);
/** Built pages: in folders of their own beside the sources, inside the published package. */
const PAGES = import.meta.filename.endsWith(".ts")
  ? { console: fromHere("../../../console/dist"), guide: fromHere("../../../../site/dist") }
  : { console: fromHere("../console"), guide: fromHere("../guide") };

/** Builds the service. Rejects with a user-facing Error if the data directory cannot be used. */
export async function buildServer(config: Config, overrides: ServerOverrides): Promise<ColloquyServer> {
  const clock = overrides.clock ?? createSystemClock();
  const { logger, onFatal, processId } = overrides;
  const register = new MetricsRegister();
  const onNotificationsLost = createBusMetrics(register);
  if (overrides.logLinesLeftOut !== undefined) createLogMetrics(register, overrides.logLinesLeftOut);
  let onServerChange = (): void => undefined;
  const foundations = { clock, logger, onFatal, processId, onNotificationsLost };
  const storage =
    overrides.store === undefined
      ? await openStorage(config, { ...foundations, onServerChange: () => onServerChange() })
      : aloneWith(overrides.store);
  const { store, rateCounters } = storage;
  const handles = await readHandles(store);
  overrides.useHandles?.(handles);
  const vault = openVault(masterKeySettings(config), store.secrets, logger);
  const extraModels = overrides.models ?? {};
  const keys = { vault, signingKeys: vault };
  const service = buildService({ config, clock, logger, ...storage, register, extraModels, ...keys });
  onServerChange = () => service.dropMemory();
  const { apps, feed: updates } = service;
  const secrets = createSecretService(apps, vault);
  const readiness = createReadiness({ store, isAlone: storage.isAlone, clock, logger });
  const http = buildHttp({
    services: { ...service, updates, readiness, secrets },
    config: { ...config.server, bodyBytes: config.limits.bodyBytes },
    logger,
    register,
    clock,
    rateCounters,
    admin: buildAdmin({ config, storage, handles, service, readiness, clock, logger }),
    pages: PAGES,
    protocols: [aiSdkRoutes(config.limits)],
  });
  const connections = new OpenConnections(http.server, clock);
  const { host, port, dataDirectory } = config.server;
  /** Commands on the same machine find the server through the address recorded beside its data. */
  const isNoted = config.databaseUrl === null && overrides.store === undefined && overrides.isHidden !== true;
  return {
    hasGuide: existsSync(PAGES.guide),
    async listen() {
      await vault.check();
      // Listen first: a start that fails on the port must not claim turns, which would count as one of their attempts.
      const url = await http.listen({ host, port });
      const taken = http.server.address();
      const given = typeof taken === "object" && taken !== null ? taken.port : port;
      if (isNoted) noteAddress(dataDirectory, localAddress({ host, port: given }));
      service.leases.start();
      service.actionExpiry.start();
      await service.dispatcher.start();
      return { url };
    },
    async stop({ graceMs }) {
      readiness.stop();
      await stopService(service, graceMs);
      if (isNoted) forgetAddress(dataDirectory);
      await closeHttp(http, connections, clock);
      connections.stop();
      await rateCounters?.close();
      await store.close();
    },
    cleanUp: () => service.cleanup.run(),
    reload: (next) => reloadNoted(service, next),
  };
}

function reloadNoted({ reload, audit }: Service, next: Config): readonly string[] {
  const warnings = reload(next);
  const details = { warnings: warnings.length };
  void audit.note({ action: "config_reloaded", actor: SERVICE_ACTOR, app: null, target: null, details });
  return warnings;
}

interface AdminFoundations {
  readonly config: Config;
  readonly storage: Pick<Storage, "store" | "busServer">;
  readonly handles: SessionHandles;
  readonly service: Pick<
    Service,
    | "owner"
    | "gauges"
    | "conversations"
    | "actions"
    | "threads"
    | "users"
    | "apps"
    | "tools"
    | "audit"
    | "userData"
  >;
  readonly readiness: Readiness;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Builds the admin API of a running service; `null` if nobody could use it. */
export function buildAdmin({
  config,
  storage,
  handles,
  service: parts,
  readiness,
  clock,
  logger,
}: AdminFoundations) {
  const { adminKey: key, databaseUrl, limits } = config;
  const operators = operatorTokens(config.operators, { clock, logger });
  if (key === null && operators === null) return null;
  const { store, busServer: bus } = storage;
  const { owner, gauges, conversations, actions, threads, users, apps, tools, audit, userData } = parts;
  const service = createAdministration({
    version: manifest.version,
    node: owner,
    store,
    storeKind: databaseUrl === null ? "sqlite" : "postgresql",
    bus,
    readiness,
    gauges,
    clock,
    limits,
    handles,
    conversations,
    actions,
    threads,
    users,
    catalog: apps,
    tools,
    keys: new KeyAdministration({ store: store.keys, clock, logger, apps: () => apps.names() }),
    audit,
    userData,
  });
  return { key, operators, service };
}

/** Returns the URL of a server for clients on the same machine. */
export function localAddress({ host, port }: { readonly host: string; readonly port: number }): string {
  const everywhere: Readonly<Record<string, string>> = { "0.0.0.0": "127.0.0.1", "::": "[::1]" };
  const name = everywhere[host] ?? (host.includes(":") ? `[${host}]` : host);
  return `http://${name}:${port}`;
}

/** Stops the workers, then their dependencies. Requests still get responses. */
async function stopService(service: Service, graceMs: number): Promise<void> {
  service.titles.stop();
  service.feed.stop();
  await service.dispatcher.stop(graceMs);
  service.conversations.stopWaiting();
  service.leases.stop();
  service.registry.stop();
  await service.cleanup.stop();
  await service.actionExpiry.stop();
  await service.tools.close();
  await service.schemas.close();
  await service.hub.close();
}

/** Closes the server when responses in progress are sent. Does not wait for clients that have stalled. */
async function closeHttp(http: HttpApp, connections: OpenConnections, clock: Clock): Promise<void> {
  const timer = clock.after(CLOSING_MS, () => http.server.closeAllConnections());
  try {
    connections.closeWhenIdle();
    await http.close();
  } finally {
    timer.stop();
  }
}

// Opens the foundations of the service, builds it, and starts and stops it.

import { existsSync } from "node:fs";
import { join } from "node:path";
import type { LanguageModelV4 } from "@ai-sdk/provider";
import { Registry as MetricsRegister } from "prom-client";
import manifest from "../../package.json" with { type: "json" };
import { createAdministration } from "../admin/administration.ts";
import { KeyAdministration } from "@colloquy/engine/internal/apps/keys/key-administration";
import { PublicPage } from "@colloquy/engine/internal/apps/public-page";
import { operatorTokens } from "@colloquy/engine/internal/apps/users/operator-tokens";
import { createSecretService } from "@colloquy/engine/internal/apps/secrets/vault";
import type { Config } from "../config/config.ts";
import { isPublic } from "@colloquy/engine/internal/core/loopback";
import type { SessionHandles } from "@colloquy/engine/internal/core/session-handles";
import type { Clock } from "@colloquy/engine/internal/core/ports/driven/clock";
import type { Logger } from "@colloquy/engine/internal/core/ports/driven/logger";
import type { Store } from "@colloquy/engine/internal/core/ports/driven/store";
import { buildHttp } from "../http/app.ts";
import type { HttpApp } from "../http/routes/route-parts.ts";
import { OpenConnections } from "../http/connections.ts";
import { configuredProtocols } from "./protocols.ts";
import { forgetAddress, noteAddress } from "@colloquy/engine/internal/store/sqlite/served-address";
import { memoryFiles } from "@colloquy/engine/internal/files/memory";
import { createSystemClock } from "@colloquy/engine/internal/wiring/clock";
import { masterKeySettings, openVault } from "@colloquy/engine/internal/wiring/master-keys";
import { createBusMetrics, createLogMetrics } from "@colloquy/engine/internal/wiring/metrics";
import { createReadiness, type Readiness } from "../admin/readiness.ts";
import {
  buildService,
  type Service,
  startService,
  stopService,
} from "@colloquy/engine/internal/wiring/service";
import {
  aloneWith,
  openFiles,
  openStorage,
  readHandles,
  type Storage,
} from "@colloquy/engine/internal/wiring/storage";

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
  readonly isPrivate?: boolean;
  /** Models by rig, in addition to the configured ones. */
  readonly models?: Readonly<Record<string, LanguageModelV4>>;
  /** An open, otherwise unused store instead of the configured one. The server closes it, and keeps files in memory. */
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
  const { logger, onFatal, processId = null } = overrides;
  const register = new MetricsRegister();
  const onNotificationsLost = createBusMetrics(register);
  if (overrides.logLinesLeftOut !== undefined) createLogMetrics(register, overrides.logLinesLeftOut);
  let onServerChange = (): void => undefined;
  const { server: settings } = config;
  const foundations = {
    clock,
    logger,
    onFatal,
    processId,
    onNotificationsLost,
    directory: settings.dataDirectory,
    isLimited: isLimited(config),
  };
  const storage =
    overrides.store === undefined
      ? await openStorage(config, { ...foundations, onServerChange: () => onServerChange() })
      : aloneWith(overrides.store);
  const { store, rateCounters } = storage;
  const fileStore = overrides.store === undefined ? await openFiles(config, foundations) : memoryFiles();
  const handles = await readHandles(store);
  overrides.useHandles?.(handles);
  const vault = openVault(masterKeySettings(config), store.secrets, logger);
  const extraModels = overrides.models ?? {};
  const keys = { vault, signingKeys: vault };
  const walletListing = settings.walletListing === "on";
  const maxStreamsPerSession = isPublic(settings) ? settings.rateLimits.streamsPerSession : null;
  const limited = { walletListing, maxStreamsPerSession };
  const service = buildService({
    config,
    clock,
    logger,
    ...storage,
    fileStore,
    ...limited,
    register,
    extraModels,
    ...keys,
  });
  onServerChange = () => service.dropMemory();
  const { apps, feed: updates } = service;
  const secrets = createSecretService(apps, vault);
  const readiness = createReadiness({ store, isAlone: storage.isAlone, clock, logger });
  const publicPage = new PublicPage({
    apps,
    operators: config.operators,
    now: () => clock.monotonic(),
    logger,
  });
  const http = buildHttp({
    services: { ...service, updates, readiness, secrets, publicPage },
    config: { ...config.server, bodyBytes: config.limits.bodyBytes },
    logger,
    register,
    clock,
    rateCounters,
    admin: buildAdmin({ config, storage, handles, service, readiness, clock, logger }),
    pages: PAGES,
    protocols: configuredProtocols(config.plugins, config.protocols),
    sessionBytes: config.limits.sessionBytes,
  });
  const connections = new OpenConnections(http.server, clock);
  const { host, port, dataDirectory } = config.server;
  /** Commands on the same machine find the server through the address recorded beside its data. */
  const isNoted =
    config.backend.plugin.nodes === undefined &&
    overrides.store === undefined &&
    overrides.isPrivate !== true;
  return {
    hasGuide: existsSync(PAGES.guide),
    async listen() {
      await vault.check();
      // Listen first: a start that fails on the port must not claim turns, which would count as one of their attempts.
      const url = await http.listen({ host, port });
      const taken = http.server.address();
      const given = typeof taken === "object" && taken !== null ? taken.port : port;
      if (isNoted) noteAddress(dataDirectory, localAddress({ host, port: given }));
      await startService(service);
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
  };
}

/** Returns true if requests are counted. On loopback, only wrong admin keys are limited (contract section 6). */
export function isLimited({ server, adminKey, operators }: Config): boolean {
  return isPublic(server) || adminKey !== null || operators !== null;
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
  const { adminKey: key, backend, limits } = config;
  const operators = operatorTokens(config.operators, { clock, logger });
  if (key === null && operators === null) return null;
  const { store, busServer: bus } = storage;
  const { owner, gauges, conversations, actions, threads, users, apps, tools, audit, userData } = parts;
  const service = createAdministration({
    version: manifest.version,
    node: owner,
    store,
    storeKind: backend.plugin.name,
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

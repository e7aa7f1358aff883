// The composition root: opens what the service stands on, builds it, and gives it its life from listening to stopping.

import { join } from "node:path";
import type { LanguageModelV4 } from "@ai-sdk/provider";
import { Registry as MetricsRegister } from "prom-client";
import { createSecretService } from "../apps/secrets/vault.ts";
import type { Config } from "../config/config.ts";
import type { Clock } from "../core/ports/driven/clock.ts";
import type { Logger } from "../core/ports/driven/logger.ts";
import type { Store } from "../core/ports/driven/store.ts";
import { buildHttp } from "../http/app.ts";
import type { HttpApp } from "../http/routes/route-parts.ts";
import { OpenConnections, StalledConnections } from "../http/connections.ts";
import { forgetAddress, noteAddress } from "../store/sqlite/served-address.ts";
import { buildAdmin } from "./admin-parts.ts";
import { createSystemClock } from "./clock.ts";
import { masterKeySettings, openVault } from "./master-keys.ts";
import { createBusMetrics, createLogMetrics } from "./metrics.ts";
import { localAddress } from "./local-address.ts";
import { createReadiness } from "./readiness.ts";
import { buildService, type Service } from "./service.ts";
import { aloneWith, openStorage } from "./storage.ts";

export interface ServerOverrides {
  readonly logger: Logger;
  /** Lines of the log that could not be written so far; absent where nobody counts them. */
  readonly logLinesLeftOut?: () => number;
  /** Called when the process must end at once, because its store can no longer be trusted. */
  readonly onFatal: (error: Error) => void;
  readonly clock?: Clock;
  /** Id of this process, named to a second server that is refused on the same data directory. */
  readonly processId?: number;
  /** Whether it is for this process alone: nothing beside its data says where it listens. `false` when absent. */
  readonly isHidden?: boolean;
  /** Models by rig, beside the configured ones. */
  readonly models?: Readonly<Record<string, LanguageModelV4>>;
  /** A store that is open already and used by nobody else, instead of the configured one; the server closes it. */
  readonly store?: Store;
}

export interface ColloquyServer {
  /** Takes up what a crash has left, then takes requests. */
  listen(): Promise<{ readonly url: string }>;
  /** Stops gracefully: turns that run get `graceMs` milliseconds to end. */
  stop(options: { readonly graceMs: number }): Promise<void>;
  /** Runs the periodic cleanup now. */
  cleanUp(): Promise<void>;
  /**
   * Takes over Apps, models, tools and providers of a configuration that was read again, without dropping a session, a stream or a turn
   * that runs. Answers warnings about what it cannot take over while it runs.
   */
  reload(config: Config): readonly string[];
}

/** Milliseconds that answers which are on their way get when everything else has stopped. */
const CLOSING_MS = 2_000;
/** Where the build of the package beside this one leaves the console. */
const CONSOLE_DIRECTORY = join(import.meta.dirname, "../../../console/dist");

/** Builds the service. Rejects with an Error that says what to do when the data directory cannot be used. */
export async function buildServer(config: Config, overrides: ServerOverrides): Promise<ColloquyServer> {
  const clock = overrides.clock ?? createSystemClock();
  const { logger, onFatal, processId } = overrides;
  const register = new MetricsRegister();
  const onNotificationsLost = createBusMetrics(register);
  if (overrides.logLinesLeftOut !== undefined) createLogMetrics(register, overrides.logLinesLeftOut);
  const storage =
    overrides.store === undefined
      ? await openStorage(config, { clock, logger, onFatal, processId, onNotificationsLost })
      : aloneWith(overrides.store, logger);
  const { store, rateCounters } = storage;
  const vault = openVault(masterKeySettings(config), store.secrets, logger);
  const service = buildService({
    config,
    clock,
    logger,
    ...storage,
    register,
    extraModels: overrides.models ?? {},
    vault,
  });
  const { conversations, threads, models, actions, feed: updates, keys, apps } = service;
  const secrets = createSecretService(apps, vault);
  const readiness = createReadiness({ store, isAlone: storage.isAlone, clock });
  const http = buildHttp({
    services: { conversations, threads, models, actions, updates, readiness, keys, apps, secrets },
    config: config.server,
    logger,
    register,
    clock,
    rateCounters,
    admin: buildAdmin({ config, storage, service, readiness, clock }),
    consoleDirectory: CONSOLE_DIRECTORY,
  });
  const connections = new OpenConnections(http.server);
  const stalled = new StalledConnections(http.server, clock);
  const place = servedPlace(config, overrides);
  return {
    async listen() {
      await vault.check();
      // First the port: a start that fails on it must not have taken up turns, which would count as one of their attempts.
      const url = await place.listen(http);
      service.leases.start();
      service.actionExpiry.start();
      await service.dispatcher.start();
      return { url };
    },
    async stop({ graceMs }) {
      readiness.stop();
      await stopService(service, graceMs);
      place.forget();
      await closeWithin(CLOSING_MS, http, connections, clock);
      stalled.stop();
      await rateCounters?.close();
      await store.close();
    },
    cleanUp: () => service.cleanup.run(),
    reload: (next) => service.reload(next),
  };
}

/** Where it listens, said beside the data for commands on the same machine, while the port is its own. */
function servedPlace({ server, databaseUrl }: Config, { store, isHidden = false }: ServerOverrides) {
  const isNoted = databaseUrl === null && store === undefined && !isHidden;
  const { host, port, dataDirectory } = server;
  return {
    async listen(http: HttpApp): Promise<string> {
      const url = await http.listen({ host, port });
      const taken = http.server.address();
      const given = typeof taken === "object" && taken !== null ? taken.port : port;
      if (isNoted) noteAddress(dataDirectory, localAddress({ host, port: given }));
      return url;
    },
    forget(): void {
      if (isNoted) forgetAddress(dataDirectory);
    },
  };
}

/** Ends what works, then what it works with; requests are still answered. */
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
  await service.hub.close();
}

/**
 * Closes the server when clients have taken the answers that are on their way. A client that sends half a request, or takes nothing of an
 * answer, does not hold up the end of the process.
 */
async function closeWithin(
  ms: number,
  http: HttpApp,
  connections: OpenConnections,
  clock: Clock,
): Promise<void> {
  const timer = clock.after(ms, () => http.server.closeAllConnections());
  try {
    connections.closeWhenIdle();
    await http.close();
  } finally {
    timer.stop();
  }
}

// Opens the store and the bus of a node: SQLite for a single node, or a PostgreSQL database that nodes share, with the
// database or NATS as transport of their notifications.

import { randomBytes, randomUUID } from "node:crypto";
import { ClusterBus, type ClusterBusOptions } from "../bus/cluster-bus.ts";
import type { Transport } from "../bus/transport.ts";
import type { Config } from "../config/config.ts";
import { isPublic } from "../core/loopback.ts";
import type { SessionHandles } from "../core/session-handles.ts";
import type { Bus, BusServer } from "../core/ports/driven/bus.ts";
import type { Clock } from "../core/ports/driven/clock.ts";
import type { Logger } from "../core/ports/driven/logger.ts";
import type { RateCounters } from "../core/ports/driven/rate-counters.ts";
import type { Store } from "../core/ports/driven/store.ts";
import { openSqliteStore } from "../store/sqlite/open.ts";
import { createHandles, HANDLE_KEY_BYTES } from "./handle-cipher.ts";
import { tightenData } from "../store/sqlite/private-files.ts";

export interface Storage {
  readonly store: Store;
  /** `null` if there are no other nodes. */
  readonly bus: Bus | null;
  readonly busServer: BusServer;
  /** True if no other process uses the store. */
  readonly isAlone: boolean;
  /** `null` if this process counts alone, or if there are neither rate limits nor an admin key. */
  readonly rateCounters: RateCounters | null;
}

export interface StorageOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called when the process must end at once because its store can no longer be trusted. */
  readonly onFatal: (error: Error) => void;
  /** Id of this process, shown to a second server on the same data directory. */
  readonly processId: number | undefined;
  /** Called with the number of notifications that were not sent unchanged, and the reason. */
  readonly onNotificationsLost: NonNullable<ClusterBusOptions["onLoss"]>;
  /** Called when the memory of this process may be ahead of the store, after a failover of its database. */
  readonly onServerChange: () => void;
}

type Place = Pick<Config, "adminKey" | "databaseUrl" | "natsUrl" | "operators" | "server">;

/** Rejects with a user-facing Error if the store cannot be used. */
export async function openStorage(place: Place, options: StorageOptions): Promise<Storage> {
  const { clock, logger, onFatal, processId } = options;
  const url = place.databaseUrl?.reveal();
  if (url !== undefined) return await openShared(url, place, options);
  const identity = processId === undefined ? {} : { processId };
  const directory = place.server.dataDirectory;
  tightenDirectory(directory, logger);
  const store = await openSqliteStore({ directory, isAlone: true, clock, onFatal, ...identity });
  return aloneWith(store);
}

/** Returns the session handles of the installation, which are the same on all nodes. */
export async function readHandles({ admin }: Pick<Store, "admin">): Promise<SessionHandles> {
  const key = await admin.handleKey(randomBytes(HANDLE_KEY_BYTES).toString("base64url"));
  return createHandles(Buffer.from(key, "base64url"));
}

function tightenDirectory(directory: string, logger: Logger): void {
  for (const { path, mode, isTight } of tightenData(directory)) {
    if (isTight) logger.info({ path, mode }, "removed the permissions of other users on the data");
    else
      logger.warn(
        { path, mode },
        "Other users can access the data, and their permissions cannot be removed here. Restrict access on its volume, or choose another directory with COLLOQUY_DATA_DIR.",
      );
  }
}

export function aloneWith(store: Store): Storage {
  const busServer = { kind: "in-process", check: null } as const;
  return { store, bus: null, busServer, isAlone: true, rateCounters: null };
}

/** Loads code that only nodes with a PostgreSQL database need. */
async function openShared(
  url: string,
  { adminKey, operators, natsUrl, server }: Place,
  { clock, logger, onNotificationsLost, onServerChange }: StorageOptions,
): Promise<Storage> {
  const [{ openPostgresStore }, { refusingToStart }] = await Promise.all([
    import("../store/postgres/open.ts"),
    import("../store/postgres/server-check.ts"),
  ]);
  const onStandbyWait = (problem: string | null): void => {
    if (problem === null) logger.info({}, "commits reach the synchronous standby again");
    else logger.error({}, problem);
  };
  const store = await refusingToStart(() => openPostgresStore({ url, onStandbyWait, onServerChange }));
  const transport = await openTransport(url, natsUrl?.reveal() ?? null, { clock, logger });
  const node = randomUUID();
  const bus = new ClusterBus({ node, transport, clock, logger, onLoss: onNotificationsLost });
  const { openRateCounters } = await import("../store/postgres/rate-counters.ts");
  // On loopback, only wrong admin keys are limited (contract section 6).
  const isLimited = isPublic(server) || adminKey !== null || operators !== null;
  const rateCounters = isLimited ? await openRateCounters({ url, node, timers: clock, logger }) : null;
  const kind = natsUrl === null ? "postgresql" : "nats";
  const busServer: BusServer = { kind, check: () => transport.check() };
  return { store, bus, busServer, isAlone: false, rateCounters };
}

async function openTransport(
  databaseUrl: string,
  natsUrl: string | null,
  shared: { readonly clock: Clock; readonly logger: Logger },
): Promise<Transport> {
  if (natsUrl === null) {
    const { PostgresTransport } = await import("../bus/postgres-transport.ts");
    return new PostgresTransport({ url: databaseUrl, ...shared });
  }
  const [{ NatsTransport }, { databaseIdentity }] = await Promise.all([
    import("../bus/nats-transport.ts"),
    import("../store/postgres/inspection.ts"),
  ]);
  // Clusters may share NATS servers; the database identifies a cluster.
  return new NatsTransport({ url: natsUrl, namespace: await databaseIdentity(databaseUrl), ...shared });
}

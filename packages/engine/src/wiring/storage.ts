// Opens the configured backend's store, and the bus between nodes that share it.

import { randomBytes, randomUUID } from "node:crypto";
import { ClusterBus, type ClusterBusOptions } from "../bus/cluster-bus.ts";
import type { StorageConfig } from "../config/backends.ts";
import type { ChosenFileStore, FileStore, FileStoreContext } from "../core/plugins/file-store.ts";
import type { BackendContext, BackendPlugin } from "../core/plugins/backend.ts";
import type { Bus, BusServer } from "../core/ports/driven/bus.ts";
import type { RateCounters } from "../core/ports/driven/rate-counters.ts";
import type { Store } from "../core/ports/driven/store.ts";
import type { Transport } from "../core/ports/driven/transport.ts";
import type { SessionHandles } from "../core/session-handles.ts";
import { createHandles, HANDLE_KEY_BYTES } from "./handle-cipher.ts";

export interface Storage {
  readonly store: Store;
  /** `null` if there are no other nodes. */
  readonly bus: Bus | null;
  readonly busServer: BusServer;
  /** True if no other process uses the store. */
  readonly isAlone: boolean;
  /** Counters shared by all nodes; `null` if this process counts its own requests. */
  readonly rateCounters: RateCounters | null;
}

export interface StorageOptions
  extends Pick<
    BackendContext,
    "clock" | "logger" | "onFatal" | "onServerChange" | "directory" | "processId"
  > {
  /** True to count requests, across all nodes if the backend supports it. */
  readonly isLimited: boolean;
  /** Called with the number of notifications that were not sent unchanged, and the reason. */
  readonly onNotificationsLost: NonNullable<ClusterBusOptions["onLoss"]>;
}

/** Cluster of a backend's own transport, because its database separates clusters. */
export const OWN_CLUSTER = "colloquy";

/** Rejects with a user-facing Error if the store cannot be used. */
export async function openStorage(
  { backend, transport }: StorageConfig,
  { isLimited, onNotificationsLost: onLoss, ...context }: StorageOptions,
): Promise<Storage> {
  const { plugin } = backend;
  const settings = backend.settings.reveal();
  const store = await plugin.open(settings, { ...context, role: "node", mayCreate: true });
  if (plugin.nodes === undefined) return aloneWith(store);
  const { clock, logger } = context;
  try {
    const { nodes } = plugin;
    const identity = transport === null ? OWN_CLUSTER : await nodes.identity(settings);
    const carrier = await openTransport({ backend, transport }, { cluster: identity, clock, logger });
    const node = randomUUID();
    const bus = new ClusterBus({ node, transport: carrier, clock, logger, onLoss });
    const counting = isLimited ? nodes.counters?.(settings, { node, clock, logger }) : undefined;
    const rateCounters = (await counting) ?? null;
    const busServer: BusServer = { kind: (transport ?? backend).plugin.name, check: () => carrier.check() };
    return { store, bus, busServer, isAlone: false, rateCounters };
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** Opens the configured file store. Rejects with a user-facing Error if it cannot be used. */
export async function openFiles(
  { files }: { readonly files: ChosenFileStore },
  context: FileStoreContext,
): Promise<FileStore> {
  return await files.plugin.open(files.settings.reveal(), context);
}

/** Creates the configured transport or, by default, the backend's own. */
export async function openTransport(
  { backend, transport }: StorageConfig,
  context: Parameters<NonNullable<NonNullable<BackendPlugin["nodes"]>["transport"]>>[1],
): Promise<Transport> {
  if (transport !== null) return await transport.plugin.open(transport.settings.reveal(), context);
  const own = await backend.plugin.nodes?.transport?.(backend.settings.reveal(), context);
  if (own === undefined) throw new Error(`The backend "${backend.plugin.name}" needs a transport. Name one.`);
  return own;
}

/** Returns the installation's session handles, which are the same on all nodes. */
export async function readHandles({ admin }: Pick<Store, "admin">): Promise<SessionHandles> {
  const key = await admin.handleKey(randomBytes(HANDLE_KEY_BYTES).toString("base64url"));
  return createHandles(Buffer.from(key, "base64url"));
}

export function aloneWith(store: Store): Storage {
  const busServer = { kind: "in-process", check: null } as const;
  return { store, bus: null, busServer, isAlone: true, rateCounters: null };
}

// Builds the administration of a running service if an admin key is configured.

import { createAdministration } from "../admin/administration.ts";
import manifest from "../../package.json" with { type: "json" };
import { KeyAdministration } from "../apps/keys/key-administration.ts";
import type { Config } from "../config/config.ts";
import type { Hidden } from "../core/hidden.ts";
import type { AdminService } from "../core/ports/driving/admin-service.ts";
import type { Clock } from "../core/ports/driven/clock.ts";
import type { KeyService } from "../core/ports/driving/key-service.ts";
import type { Readiness } from "../core/ports/driving/services.ts";
import type { Service } from "./service.ts";
import type { Storage } from "./storage.ts";

export interface AdminFoundations {
  readonly config: Config;
  readonly storage: Pick<Storage, "store" | "busServer">;
  readonly service: Pick<Service, "owner" | "gauges" | "conversations" | "threads" | "apps" | "tools">;
  readonly readiness: Readiness;
  readonly clock: Clock;
}

export function buildAdmin(
  base: AdminFoundations,
): { readonly key: Hidden<string>; readonly service: AdminService } | null {
  const { config, storage, service: parts, readiness, clock } = base;
  const { adminKey: key, databaseUrl, limits } = config;
  if (key === null) return null;
  const { store, busServer: bus } = storage;
  const { owner, gauges, conversations, threads, apps: catalog, tools } = parts;
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
    conversations,
    threads,
    catalog,
    tools,
    keys: keysOf(base),
  });
  return { key, service };
}

/** Uses the Apps of the current configuration in each call. */
function keysOf({ storage, service, clock }: AdminFoundations): KeyService {
  const now = () => new KeyAdministration({ store: storage.store.keys, clock, apps: service.apps.names() });
  return {
    create: (input) => now().create(input),
    list: () => now().list(),
    revoke: (id) => now().revoke(id),
    rotate: (id, overlapMs) => now().rotate(id, overlapMs),
  };
}

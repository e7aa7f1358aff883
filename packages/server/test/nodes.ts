// Several nodes without HTTP in this process, with one PostgreSQL database, a bus over that database, and one
// manual clock.

import { ClusterBus } from "@colloquy/engine/internal/bus/cluster-bus";
import { PostgresTransport } from "@colloquy/postgres/internal/transport";
import type { Transport } from "@colloquy/engine/internal/core/ports/driven/transport";
import { createSystemClock } from "@colloquy/engine/internal/wiring/clock";
import type { Config } from "../src/config/config.ts";
import type { Logger } from "@colloquy/engine/internal/core/ports/driven/logger";
import type { Store } from "@colloquy/engine/internal/core/ports/driven/store";
import { openPostgresStore } from "@colloquy/postgres/internal/open";
import type { BeforeCall } from "./intercepted-store.ts";
import { ManualClock } from "./manual-clock.ts";
import type { PostgresDatabases } from "./postgres-server.ts";
import { PATIENT } from "./use-postgres.ts";
import { newId, startService, until, type TestService } from "./service.ts";

const SILENT: Logger = { debug() {}, info() {}, warn() {}, error() {} };

export interface Nodes {
  readonly clock: ManualClock;
  readonly nodes: readonly TestService[];
  /** Restarts a crashed node at the same index, as another process. */
  comeBack(place: number): Promise<void>;
  /** Advances the clock on all nodes, second by second, and waits for the claims of each second. */
  pass(ms: number): Promise<void>;
  close(): Promise<void>;
}

export interface NodesOptions {
  readonly count: number;
  readonly hasBus?: boolean;
  readonly adjust?: (config: Config) => Config;
  /** Intercepts the store calls of the second node. */
  readonly beforeCall?: BeforeCall;
  /** Intercepts the store calls of each node, instead of `beforeCall`. */
  readonly beforeCallOf?: (place: number) => BeforeCall;
  /** Wraps each node's store. */
  readonly watch?: (store: Store) => Store;
}

/** Starts nodes on a new database of the server. */
export async function startNodes(
  server: PostgresDatabases,
  { count, hasBus = true, adjust, beforeCall, beforeCallOf, watch = (store) => store }: NodesOptions,
): Promise<Nodes> {
  const clock = new ManualClock();
  const url = server.url(await server.createDatabase());
  const nodes: TestService[] = [];
  // A claim whose response arrives after many seconds of manual time would return an expired lease.
  let openClaims = 0;
  const countClaims = (store: Store): Store => ({
    ...store,
    executeEach: async (selection) => {
      openClaims += 1;
      try {
        return await store.executeEach(selection);
      } finally {
        openClaims -= 1;
      }
    },
  });
  const shared = async () => ({
    store: watch(countClaims(await openPostgresStore({ url, clock, connections: 4, ...PATIENT }))),
    bus: busOn(hasBus ? url : null),
  });
  const start = (place: number) =>
    startService({
      clock,
      shared,
      ...(adjust !== undefined && { adjust }),
      ...(place === 1 && beforeCall !== undefined && { beforeCall }),
      ...(beforeCallOf !== undefined && { beforeCall: beforeCallOf(place) }),
    });
  for (let n = 0; n < count; n += 1) nodes.push(await start(n));
  return {
    clock,
    nodes,
    comeBack: async (place) => {
      nodes[place] = await start(place);
    },
    pass: async (ms) => {
      for (let left = ms; left > 0; left -= 1_000) {
        await clock.advance(Math.min(left, 1_000));
        // The store of a crashed node rejects calls.
        for (const { store } of nodes) await store.probe().catch(() => undefined);
        await until(() => openClaims === 0);
      }
    },
    close: async () => {
      for (const node of nodes) await node.close();
    },
  };
}

/** The bus uses real time, because it is not under test here. */
function busOn(url: string | null): ClusterBus {
  const clock = createSystemClock();
  const transport = url === null ? NOWHERE : new PostgresTransport({ url, clock, logger: SILENT });
  return new ClusterBus({ node: newId(), transport, clock, logger: SILENT });
}

/** A bus that never connects. */
const NOWHERE: Transport = {
  maxBytes: 7_999,
  isReady: false,
  start: () => undefined,
  ready: () => Promise.resolve(false),
  check: () => Promise.reject(new Error("There is no connection")),
  send: () => Promise.reject(new Error("There is no connection")),
  follow: () => Promise.resolve(),
  unfollow: () => undefined,
  close: () => Promise.resolve(),
};

// How the service is doing: what this process has, what the store says of all of them, and whether store and bus answer.

import type { AdminOverview } from "@colloquy/protocol";
import type { ProcessGauges } from "../core/ports/admin-service.ts";
import type { BusServer } from "../core/ports/bus.ts";
import type { Clock } from "../core/ports/clock.ts";
import type { Readiness } from "../core/ports/services.ts";
import type { Store } from "../core/ports/store.ts";
import { timeText } from "./wire.ts";

/** Counts stop here. */
const COUNTED_TO = 20_000;

export interface OverviewOptions {
  readonly version: string;
  /** Id of this process, under which it owns turns. */
  readonly node: string;
  readonly store: Pick<Store, "admin" | "turns">;
  readonly storeKind: AdminOverview["store"]["kind"];
  readonly bus: BusServer;
  readonly readiness: Readiness;
  readonly gauges: ProcessGauges;
  readonly clock: Pick<Clock, "now" | "monotonic">;
}

/** Answers a function that looks at everything anew. `startedAt` of the answers is now. */
export function createOverview(options: OverviewOptions): () => Promise<AdminOverview> {
  const { version, node, readiness, gauges, clock } = options;
  const startedAt = timeText(clock.now());
  return async () => {
    const [store, everywhere, bus] = await Promise.all([
      lookAtStore(options),
      countEverywhere(options),
      lookAtBus(options),
    ]);
    return {
      version,
      time: timeText(clock.now()),
      started_at: startedAt,
      node,
      is_ready: store.readiness.length === 0 && !readiness.stopping,
      problems: [...store.readiness],
      here: {
        sessions_in_memory: gauges.liveSessions(),
        snapshot_bytes: gauges.snapshotBytes(),
        open_streams: gauges.openStreams(),
        running_turns: gauges.runningTurns(),
      },
      everywhere,
      store: store.health,
      bus,
    };
  };
}

async function lookAtStore({ store, storeKind, readiness, clock }: OverviewOptions) {
  const read = await timed(clock, () => store.admin.now());
  const aheadMs = read.ok ? Math.round(read.value - (clock.now() - read.ms / 2)) : null;
  // Readiness is whether a commit reaches the disk.
  const commit = await timed(clock, () => readiness.problems());
  const problems = commit.ok ? commit.value : [];
  const unread = "The store cannot be read. Look at the database and at the log.";
  const health = {
    kind: storeKind,
    is_healthy: read.ok && problems.length === 0,
    problems: [...(read.ok ? [] : [unread]), ...problems],
    read_ms: read.ok ? read.ms : null,
    commit_ms: commit.ok && problems.length === 0 ? commit.ms : null,
    clock_ahead_ms: aheadMs,
  };
  return { health, readiness: problems };
}

/** `null` where the store cannot be read. */
async function countEverywhere({ store }: OverviewOptions): Promise<AdminOverview["everywhere"]> {
  try {
    const [counts, queued] = await Promise.all([
      store.admin.counts(COUNTED_TO),
      store.turns.countWaiting(COUNTED_TO),
    ]);
    return {
      running_turns: counts.owners.reduce((sum, { running }) => sum + running, 0),
      queued_turns: queued,
      waiting_turns: counts.asking,
      pending_actions: counts.pendingActions,
      counted_to: COUNTED_TO,
      working_nodes: counts.owners.map(({ owner, running }) => ({ node: owner, running_turns: running })),
    };
  } catch {
    // What is wrong stands under `store`.
    return null;
  }
}

async function lookAtBus({ bus, clock }: OverviewOptions): Promise<AdminOverview["bus"]> {
  const { kind, check } = bus;
  if (check === null) return { kind, is_healthy: true, problems: [], round_trip_ms: null };
  const answer = await timed(clock, check);
  if (answer.ok) return { kind, is_healthy: true, problems: [], round_trip_ms: answer.ms };
  const problem =
    "The bus does not answer: other nodes hear of changes up to two seconds later, from the store. Look at its server and at the log.";
  return { kind, is_healthy: false, problems: [problem], round_trip_ms: null };
}

type Timed<Value> =
  | { readonly ok: true; readonly value: Value; readonly ms: number }
  | { readonly ok: false };

async function timed<Value>(
  clock: Pick<Clock, "monotonic">,
  work: () => Promise<Value>,
): Promise<Timed<Value>> {
  const begun = clock.monotonic();
  try {
    const value = await work();
    return { ok: true, value, ms: Math.round((clock.monotonic() - begun) * 100) / 100 };
  } catch {
    return { ok: false };
  }
}

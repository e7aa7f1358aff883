// The state of the service: counts of this process and of all nodes, and the health of store and bus.

import type { AdminOverview } from "@colloquy/protocol";
import type { ProcessGauges } from "@colloquy/engine/internal/core/ports/driven/admin-store";
import type { BusServer } from "@colloquy/engine/internal/core/ports/driven/bus";
import type { Clock } from "@colloquy/engine/internal/core/ports/driven/clock";
import type { Readiness } from "./readiness.ts";
import type { Store } from "@colloquy/engine/internal/core/ports/driven/store";
import { timeText } from "./wire.ts";

/** Counting stops at this number. */
const COUNTED_TO = 20_000;
/** Time limit for store and bus in milliseconds, so that the overview reports an outage instead of hanging. */
const TIMEOUT_MS = 5_000;

export interface OverviewOptions {
  readonly version: string;
  /** Id of this process as owner of leases. */
  readonly node: string;
  readonly store: Pick<Store, "admin" | "feedback" | "turns" | "probe">;
  readonly storeKind: AdminOverview["store"]["kind"];
  readonly bus: BusServer;
  readonly readiness: Pick<Readiness, "stopping">;
  readonly gauges: ProcessGauges;
  readonly clock: Pick<Clock, "now" | "monotonic" | "after">;
}

/** Returns a function that checks everything within `TIMEOUT_MS`. The time of this call is its `started_at`. */
export function createOverview(options: OverviewOptions): () => Promise<AdminOverview> {
  const { version, node, readiness, gauges, clock } = options;
  const startedAt = timeText(clock.now());
  return async () => {
    const [checked, everywhere, bus] = await Promise.all([
      checkStore(options),
      countEverywhere(options),
      checkBus(options),
    ]);
    const problems = [...(readiness.stopping ? ["The service is stopping."] : []), ...checked.commitProblems];
    return {
      version,
      time: timeText(clock.now()),
      started_at: startedAt,
      node,
      is_ready: problems.length === 0,
      problems,
      here: {
        sessions_in_memory: gauges.liveSessions(),
        snapshot_bytes: gauges.snapshotBytes(),
        open_streams: gauges.openStreams(),
        running_turns: gauges.runningTurns(),
      },
      everywhere,
      store: checked.store,
      bus,
    };
  };
}

async function checkStore({ store, storeKind, clock }: OverviewOptions) {
  const [read, commit] = await Promise.all([
    timed(clock, async () => ({ there: await store.admin.now(), here: clock.now() })),
    timed(clock, () => store.probe()),
  ]);
  const aheadMs = read.ok ? Math.round(read.value.there - (read.value.here - read.ms / 2)) : null;
  const unread = "The store cannot be read. Check the database and the log.";
  const unwritten =
    "The store accepts no writes, or not in time. Check the disk or the database, and the log.";
  const commitProblems = commit.ok ? [] : [unwritten];
  const health = {
    kind: storeKind,
    is_healthy: read.ok && commit.ok,
    problems: [...(read.ok ? [] : [unread]), ...commitProblems],
    read_ms: read.ok ? read.ms : null,
    commit_ms: commit.ok ? commit.ms : null,
    clock_ahead_ms: aheadMs,
  };
  return { store: health, commitProblems };
}

/** Returns `null` if the store cannot be read. */
async function countEverywhere({ store, clock }: OverviewOptions): Promise<AdminOverview["everywhere"]> {
  const counted = await timed(clock, () =>
    Promise.all([store.admin.counts(COUNTED_TO), store.turns.countWaiting(COUNTED_TO)]),
  );
  // `store.problems` explains the reason.
  if (!counted.ok) return null;
  const [counts, queued] = counted.value;
  return {
    running_turns: counts.owners.reduce((sum, { running }) => sum + running, 0),
    queued_turns: queued,
    waiting_turns: counts.asking,
    pending_actions: counts.pendingActions,
    counted_to: COUNTED_TO,
    working_nodes: counts.owners.map(({ owner, running }) => ({ node: owner, running_turns: running })),
  };
}

async function checkBus({ bus, clock }: OverviewOptions): Promise<AdminOverview["bus"]> {
  const { kind, check } = bus;
  if (check === null) return { kind, is_healthy: true, problems: [], round_trip_ms: null };
  const answer = await timed(clock, check);
  if (answer.ok) return { kind, is_healthy: true, problems: [], round_trip_ms: answer.ms };
  const problem =
    "The bus does not answer: other nodes notice changes up to two seconds later, through the store. Check its server and the log.";
  return { kind, is_healthy: false, problems: [problem], round_trip_ms: null };
}

type Timed<Value> =
  | { readonly ok: true; readonly value: Value; readonly ms: number }
  | { readonly ok: false };

async function timed<Value>(
  clock: Pick<Clock, "monotonic" | "after">,
  work: () => Promise<Value>,
): Promise<Timed<Value>> {
  const startedAt = clock.monotonic();
  const timeout = Promise.withResolvers<never>();
  const timer = clock.after(TIMEOUT_MS, () => timeout.reject(new Error("There was no answer in time")));
  try {
    const value = await Promise.race([work(), timeout.promise]);
    return { ok: true, value, ms: Math.round((clock.monotonic() - startedAt) * 100) / 100 };
  } catch {
    return { ok: false };
  } finally {
    timer.stop();
  }
}

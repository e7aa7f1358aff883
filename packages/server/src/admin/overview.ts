// How the service is doing: what this process has, what the store says of all of them, and whether store and bus answer.

import type { AdminOverview } from "@colloquy/protocol";
import type { ProcessGauges } from "../core/ports/process-gauges.ts";
import type { BusServer } from "../core/ports/bus.ts";
import type { Clock } from "../core/ports/clock.ts";
import type { Readiness } from "../core/ports/services.ts";
import type { Store } from "../core/ports/store.ts";
import { timeText } from "./wire.ts";

/** Counts stop here. */
const COUNTED_TO = 20_000;
/** Milliseconds that store and bus get to answer: whoever asks how they are must hear that they do not. */
const ANSWER_MS = 5_000;

export interface OverviewOptions {
  readonly version: string;
  /** Id of this process, under which it owns turns. */
  readonly node: string;
  readonly store: Pick<Store, "admin" | "turns" | "probe">;
  readonly storeKind: AdminOverview["store"]["kind"];
  readonly bus: BusServer;
  readonly readiness: Pick<Readiness, "stopping">;
  readonly gauges: ProcessGauges;
  readonly clock: Pick<Clock, "now" | "monotonic" | "after">;
}

/** Answers a function that looks at everything anew, and answers within `ANSWER_MS` whatever is away. `startedAt` of the answers is now. */
export function createOverview(options: OverviewOptions): () => Promise<AdminOverview> {
  const { version, node, readiness, gauges, clock } = options;
  const startedAt = timeText(clock.now());
  return async () => {
    const [look, everywhere, bus] = await Promise.all([
      lookAtStore(options),
      countEverywhere(options),
      lookAtBus(options),
    ]);
    const problems = [...(readiness.stopping ? ["It is being stopped."] : []), ...look.commitProblems];
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
      store: look.store,
      bus,
    };
  };
}

async function lookAtStore({ store, storeKind, clock }: OverviewOptions) {
  const [read, commit] = await Promise.all([
    timed(clock, async () => ({ there: await store.admin.now(), here: clock.now() })),
    timed(clock, () => store.probe()),
  ]);
  const aheadMs = read.ok ? Math.round(read.value.there - (read.value.here - read.ms / 2)) : null;
  const unread = "The store cannot be read. Look at the database and at the log.";
  const unwritten =
    "The store takes no writes, or not in time. Look at the disk or the database, and at the log.";
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

/** `null` where the store cannot be read. */
async function countEverywhere({ store, clock }: OverviewOptions): Promise<AdminOverview["everywhere"]> {
  const counted = await timed(clock, () =>
    Promise.all([store.admin.counts(COUNTED_TO), store.turns.countWaiting(COUNTED_TO)]),
  );
  // What is wrong stands under `store`.
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
  clock: Pick<Clock, "monotonic" | "after">,
  work: () => Promise<Value>,
): Promise<Timed<Value>> {
  const begun = clock.monotonic();
  const late = Promise.withResolvers<never>();
  const timer = clock.after(ANSWER_MS, () => late.reject(new Error("There was no answer in time")));
  try {
    const value = await Promise.race([work(), late.promise]);
    return { ok: true, value, ms: Math.round((clock.monotonic() - begun) * 100) / 100 };
  } catch {
    return { ok: false };
  } finally {
    timer.stop();
  }
}

// Prometheus metrics and readiness for operators. Metrics never contain an App, a wallet or a session id.

import { Counter, Gauge, type Registry } from "prom-client";
import type { Clock } from "../core/ports/driven/clock.ts";
import type { ProcessGauges } from "../core/ports/driven/admin-store.ts";
import type { Logger } from "../core/ports/driven/logger.ts";
import type { Store } from "../core/ports/driven/store.ts";
import type { Readiness } from "../core/ports/driving/services.ts";
import type { TokenUsage } from "../core/turn.ts";
import { RUN_ENDS, type RunEnd } from "../turns/run.ts";

type ServiceGauges = Readonly<Record<keyof ProcessGauges | "waitingTurns", () => number>>;

/** Registers gauges, which are read at each scrape. */
export function registerGauges(register: Registry, gauges: ServiceGauges): void {
  const gauge = (name: string, help: string, read: () => number) =>
    new Gauge({
      name,
      help,
      registers: [register],
      collect() {
        this.set(read());
      },
    });
  gauge("colloquy_turns_running", "Turns that run in this process", gauges.runningTurns);
  gauge("colloquy_turns_waiting", "Turns that wait in the store, as last counted", gauges.waitingTurns);
  gauge("colloquy_sessions_live", "Sessions in memory", gauges.liveSessions);
  gauge("colloquy_snapshot_bytes", "Memory that live sessions take, in bytes", gauges.snapshotBytes);
  gauge("colloquy_streams_open", "Open event streams", gauges.openStreams);
}

/** Registers the counters of turns. */
export function createTurnMetrics(register: Registry) {
  const turns = new Counter({
    name: "colloquy_turns_ended_total",
    help: "Runs of turns by how they ended: complete, failed, waiting for a person, or stopped by an interrupt, a delete or a lost lease",
    labelNames: ["end"],
    registers: [register],
  });
  const tokens = new Counter({
    name: "colloquy_tokens_total",
    help: "Tokens that providers reported, by kind",
    labelNames: ["kind"],
    registers: [register],
  });
  const refused = new Counter({
    name: "colloquy_history_refused_total",
    help: "Model calls that a provider refused because of the form of the conversation, and that were made again in a plain form",
    registers: [register],
  });
  // Start at 0, so that the first end is visible as a change.
  for (const end of RUN_ENDS) turns.inc({ end }, 0);
  for (const kind of ["input", "output"]) tokens.inc({ kind }, 0);
  return {
    historyRefused: () => refused.inc(),
    turnEnded: (end: RunEnd) => turns.inc({ end }),
    tokensUsed: (usage: TokenUsage) => {
      tokens.inc({ kind: "input" }, usage.inputTokens);
      tokens.inc({ kind: "output" }, usage.outputTokens);
    },
  };
}

/** Reasons why notifications to other nodes were not sent unchanged (docs/adr/0017). */
const LOSSES = ["deltas", "events", "all", "broken"] as const;

/** Registers the metrics of the bus. Returns a function that counts notifications that were not sent unchanged. */
export function createBusMetrics(
  register: Registry,
): (loss: (typeof LOSSES)[number], notifications: number) => void {
  const lost = new Counter({
    name: "colloquy_bus_notes_lost_total",
    help: "Notes for other nodes that did not get out as they were; what they said is in the store",
    labelNames: ["loss"],
    registers: [register],
  });
  // Start at 0, so that the first loss is visible as a change.
  for (const loss of LOSSES) lost.inc({ loss }, 0);
  return (loss, notifications) => lost.inc({ loss }, notifications);
}

/** Registers the number of log lines that could not be written since the start of the process. */
export function createLogMetrics(register: Registry, linesLeftOut: () => number): void {
  new Counter({
    name: "colloquy_log_lines_lost_total",
    help: "Lines of the log that could not be written: the disk was full, or nobody read them",
    registers: [register],
    collect() {
      this.reset();
      this.inc(linesLeftOut());
    },
  });
}

/** Milliseconds for which a probe is cached, because a probe commits and anybody may request it. */
const PROBED_MS = 1_000;

export interface ReadinessOptions {
  readonly store: Pick<Store, "probe">;
  /** True if no other process uses the store. */
  readonly isAlone: boolean;
  readonly clock: Pick<Clock, "monotonic">;
  readonly logger: Pick<Logger, "error" | "info">;
}

/** Creates the readiness: ready while the store accepts writes and the service is not stopping. */
export function createReadiness(options: ReadinessOptions): Readiness & { stop(): void } {
  const probe = cachedProbe(options);
  let stopping = false;
  return {
    get stopping() {
      return stopping;
    },
    get refusesWork() {
      return stopping && options.isAlone;
    },
    stop() {
      stopping = true;
    },
    problems: () => (stopping ? Promise.resolve(["The service is stopping."]) : probe()),
  };
}

/**
 * Returns a function that probes the store. Concurrent callers share one probe, and later callers get its
 * result for `PROBED_MS`.
 */
function cachedProbe({ store, clock, logger }: ReadinessOptions): () => Promise<readonly string[]> {
  let last: Promise<readonly string[]> | null = null;
  let goodUntil = 0;
  let isFailing = false;
  const probe = async (): Promise<readonly string[]> => {
    // Shared until the probe ends, because a hanging store must not receive another probe each second.
    goodUntil = Infinity;
    try {
      await store.probe();
      if (isFailing) logger.info({}, "the store takes writes again");
      isFailing = false;
      return [];
    } catch (error) {
      if (!isFailing) logger.error({ err: error }, "the store takes no writes; this node is not ready");
      isFailing = true;
      return ["The store takes no writes. Look at the disk and at the log."];
    } finally {
      goodUntil = clock.monotonic() + PROBED_MS;
    }
  };
  return () => {
    if (last === null || clock.monotonic() >= goodUntil) last = probe();
    return last;
  };
}

// Prometheus metrics of turns, sessions and streams. They never contain an App, a wallet or a session id.

import { Counter, Gauge, type Registry } from "prom-client";
import type { TokenUsage } from "../core/turn.ts";

export interface ServiceGauges {
  readonly runningTurns: () => number;
  readonly waitingTurns: () => number;
  readonly liveSessions: () => number;
  readonly snapshotBytes: () => number;
  readonly openStreams: () => number;
}

interface TurnMetrics {
  turnEnded(end: string): void;
  tokensUsed(usage: TokenUsage): void;
}

/** Registers gauges, which are read at each scrape. */
export function registerGauges(register: Registry, gauges: ServiceGauges): void {
  gauge(register, "colloquy_turns_running", "Turns that run in this process", gauges.runningTurns);
  gauge(
    register,
    "colloquy_turns_waiting",
    "Turns that wait in the store, as last counted",
    gauges.waitingTurns,
  );
  gauge(register, "colloquy_sessions_live", "Sessions in memory", gauges.liveSessions);
  gauge(
    register,
    "colloquy_snapshot_bytes",
    "Memory that live sessions take, in bytes",
    gauges.snapshotBytes,
  );
  gauge(register, "colloquy_streams_open", "Open event streams", gauges.openStreams);
}

/** Registers the counters of turns. */
export function createTurnMetrics(register: Registry): TurnMetrics {
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
  return {
    turnEnded: (end) => turns.inc({ end }),
    tokensUsed: (usage) => {
      tokens.inc({ kind: "input" }, usage.inputTokens);
      tokens.inc({ kind: "output" }, usage.outputTokens);
    },
  };
}

/** Why notifications to other nodes were not sent unchanged (docs/adr/0017). */
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
  // Start at 0, so that the first loss is a change.
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

function gauge(register: Registry, name: string, help: string, read: () => number): void {
  new Gauge({
    name,
    help,
    registers: [register],
    collect() {
      this.set(read());
    },
  });
}

// What the service tells Prometheus about turns, sessions and streams. Never a name of an App, a wallet or a session.

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

/** Registers gauges, which are read when they are scraped. */
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

/** How notifications for other nodes did not get out as they were (docs/adr/0017). */
const LOSSES = ["deltas", "events", "all", "broken"] as const;

/** Registers what the bus says of itself. Answers who counts notifications that did not get out as they were. */
export function createBusMetrics(
  register: Registry,
): (loss: (typeof LOSSES)[number], notifications: number) => void {
  const lost = new Counter({
    name: "colloquy_bus_notes_lost_total",
    help: "Notes for other nodes that did not get out as they were; what they said is in the store",
    labelNames: ["loss"],
    registers: [register],
  });
  // Shown from the start, so that the first loss is a change.
  for (const loss of LOSSES) lost.inc({ loss }, 0);
  return (loss, notifications) => lost.inc({ loss }, notifications);
}

/** Registers what is known of the log: how many of its lines could not be written, since the process began. */
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

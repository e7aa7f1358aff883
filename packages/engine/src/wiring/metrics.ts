// Prometheus metrics for operators. They never contain an App, a wallet or a session id.

import { Counter, Gauge, type Registry } from "prom-client";
import type { ProcessGauges } from "../core/ports/driven/admin-store.ts";
import type { TokenUsage } from "../core/turn.ts";
import { SUMMARY_ENDS, type SummaryEnd } from "../sessions/summaries.ts";
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

/** Registers the counters of turns and summaries. */
export function createTurnMetrics(register: Registry) {
  const turns = new Counter({
    name: "colloquy_turns_ended_total",
    help: "Runs of turns by their end: complete, failed, waiting for a person, or stopped by an interrupt, a delete or a lost lease",
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
    help: "Model calls that were repeated with a shorter or plainer history, because the provider refused the conversation",
    registers: [register],
  });
  const summaries = new Counter({
    name: "colloquy_summaries_total",
    help: "Summaries of long histories by result: kept, larger than the replaced text, empty, cut, or failed",
    labelNames: ["end"],
    registers: [register],
  });
  const saved = new Counter({
    name: "colloquy_history_tokens_saved_total",
    help: "Estimated tokens that summaries have removed from prompts, counted once per summary",
    registers: [register],
  });
  for (const end of SUMMARY_ENDS) summaries.inc({ end }, 0);
  // Start at 0, so that the first end is visible as a change.
  for (const end of RUN_ENDS) turns.inc({ end }, 0);
  for (const kind of ["input", "output"]) tokens.inc({ kind }, 0);
  return {
    historyRefused: () => refused.inc(),
    turnEnded: (end: RunEnd) => turns.inc({ end }),
    summaryEnded: (end: SummaryEnd, savedTokens: number) => {
      summaries.inc({ end });
      saved.inc(savedTokens);
    },
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
    help: "Notifications for other nodes that were dropped or shortened; other nodes read their content from the store",
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
    help: "Log lines that could not be written, because the disk was full or the reader of the output was too slow",
    registers: [register],
    collect() {
      this.reset();
      this.inc(linesLeftOut());
    },
  });
}

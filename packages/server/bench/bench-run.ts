// Runs all rows and formats their results as a table.

import { mkdtempSync, rmSync } from "node:fs";
import { cpus, loadavg, tmpdir, totalmem } from "node:os";
import { join } from "node:path";
import type { ClientHandlers } from "./load/client.ts";
import { measureChats } from "./nodes/chats.ts";
import { measureCosts } from "./nodes/costs.ts";
import { measureDelays } from "./nodes/delays.ts";
import { measureInterrupts } from "./nodes/interrupts.ts";
import { measureTakeover } from "./nodes/takeover.ts";
import { measureTexts } from "./nodes/texts.ts";
import { RoleProcess } from "./role.ts";
import { measureBodies } from "./rows/bodies.ts";
import { measureDurableChat } from "./rows/durable-chat.ts";
import { measureFork } from "./rows/fork.ts";
import { measureJsonGuards } from "./rows/json-guards.ts";
import { measureLastMessages } from "./rows/last-messages.ts";
import { measureLongSession } from "./rows/long-session.ts";
import { measureOfferedLoad } from "./rows/offered-load.ts";
import { measureMemory } from "./rows/memory.ts";
import { measurePages } from "./rows/pages.ts";
import { directoriesIn, type MeasureRow } from "./rows/row.ts";
import { measureRateLimits } from "./rows/rate-limits.ts";
import { measureTokens } from "./rows/tokens.ts";
import { measureSchemas } from "./rows/schemas.ts";
import { measureRunningTexts } from "./rows/running-texts.ts";
import { measureScrub } from "./rows/scrub.ts";
import { measureSearch } from "./rows/search.ts";
import { measureState } from "./rows/state.ts";
import { measureRandomIds, measureStart } from "./rows/stored-sessions.ts";
import { measureStreams } from "./rows/streams.ts";
import { measureProtocols, measureTurns } from "./rows/turns.ts";
import { formatTable, type Row } from "./table.ts";

export interface BenchOptions {
  /** Name of the only row to measure, `null` for all. */
  readonly only: string | null;
  /** Seconds per measurement. */
  readonly seconds: number;
  readonly rounds: number;
  readonly quick: boolean;
  /** Measures rows of several nodes on one PostgreSQL instead of those of one server. */
  readonly nodes: boolean;
  readonly nodeArguments: readonly string[];
}

const NODE_ROWS: Readonly<Record<string, MeasureRow>> = {
  delays: measureDelays,
  interrupts: measureInterrupts,
  texts: measureTexts,
  chats: measureChats,
  takeover: measureTakeover,
  costs: measureCosts,
};

const ROWS: Readonly<Record<string, MeasureRow>> = {
  state: measureState,
  chat: measureDurableChat,
  offered: measureOfferedLoad,
  turns: measureTurns,
  protocols: measureProtocols,
  streams: measureStreams,
  texts: measureRunningTexts,
  memory: measureMemory,
  start: measureStart,
  "random-ids": measureRandomIds,
  "long-session": measureLongSession,
  "last-messages": measureLastMessages,
  fork: measureFork,
  pages: measurePages,
  json: measureJsonGuards,
  bodies: measureBodies,
  scrub: measureScrub,
  schemas: measureSchemas,
  limits: measureRateLimits,
  tokens: measureTokens,
  search: measureSearch,
};

/** Measures the rows, prints the table, and returns whether every target was met. */
export async function runBench(options: BenchOptions): Promise<boolean> {
  const { only, quick, rounds, nodeArguments } = options;
  const all = options.nodes ? NODE_ROWS : ROWS;
  const chosen = Object.entries(all).filter(([name]) => only === null || name === only);
  if (chosen.length === 0) throw new Error(`--only takes one of: ${Object.keys(all).join(", ")}`);
  const root = mkdtempSync(join(tmpdir(), "colloquy-bench-"));
  const client = new RoleProcess<ClientHandlers>("client", null);
  const rows: Row[] = [];
  const failures: string[] = [];
  const begun = performance.now();
  const busy = (loadavg()[0] ?? 0).toFixed(1);
  try {
    for (const [name, measure] of chosen) {
      const started = performance.now();
      const newDirectory = directoriesIn(join(root, name));
      const measuredMs = options.seconds * 1000;
      const context = {
        client,
        rounds,
        measuredMs,
        warmUpMs: measuredMs / 4,
        quick,
        nodeArguments,
        newDirectory,
      };
      try {
        rows.push(...(await measure(context)));
      } catch (error) {
        failures.push(
          `${name} could not be measured: ${error instanceof Error ? error.stack : String(error)}`,
        );
      }
      console.error(`${name}: ${((performance.now() - started) / 1000).toFixed(0)} s`);
      rmSync(join(root, name), { recursive: true, force: true });
    }
  } finally {
    await client.stop();
    rmSync(root, { recursive: true, force: true });
  }
  console.log(
    `${formatTable(rows)}\n\n${describeMachine()}; load average ${busy} before; ${((performance.now() - begun) / 1000).toFixed(0)} s`,
  );
  for (const failure of failures) console.log(failure);
  return failures.length === 0 && rows.every(({ met }) => met);
}

function describeMachine(): string {
  const processors = cpus();
  const model = processors[0]?.model ?? "an unknown processor";
  const memory = Math.round(totalmem() / 2 ** 30);
  return `Node ${process.version}, ${processors.length} cores (${model}), ${memory} GB, ${process.platform}`;
}

// Ends the server with SIGKILL at moments that the seed chooses, and starts it again on the same directory.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Random } from "./harness/random.ts";
import { ServerProcess, type ServerPlace } from "./harness/server-process.ts";
import type { Violations } from "./violations.ts";

export interface KillPlan {
  readonly kills: number;
  /** Milliseconds from the first start to the last kill. */
  readonly duration: number;
}

export interface KillOutcome {
  /** The one that runs at the end. */
  readonly server: ServerProcess;
  readonly kills: number;
  /** What the servers before it logged as errors, a few lines of each. */
  readonly errors: readonly string[];
}

/** Error lines that are kept of one server. */
const ERRORS_KEPT = 3;

/**
 * Kills the server again and again, while it starts too, and leaves one running at the end. `stopping` ends it early. A server that ends by itself is a violation.
 */
export async function killAndRestart(
  place: ServerPlace,
  plan: KillPlan,
  random: Random,
  violations: Violations,
  stopping: AbortSignal,
): Promise<KillOutcome> {
  const moments = killMoments(plan, random);
  const begun = performance.now();
  let server = startServer(place, random);
  let kills = 0;
  const errors: string[] = [];
  for (const moment of moments) {
    await sleep(begun + moment - performance.now(), undefined, { signal: stopping }).catch(() => {});
    if (stopping.aborted) break;
    noteCrash(server, violations);
    await server.end("SIGKILL");
    errors.push(...errorsOf(server));
    kills += 1;
    server = startServer(place, random);
  }
  await server.ready();
  return { server, kills, errors };
}

/** The first lines that a server logged as errors. */
export function errorsOf(server: ServerProcess): string[] {
  return server.log.filter((line) => /"level":"(?:error|fatal)"/.test(line)).slice(0, ERRORS_KEPT);
}

/** Adds a violation when the server has ended by itself, with the last lines that it logged. */
export function noteCrash(server: ServerProcess, violations: Violations): void {
  if (server.crash === null) return;
  violations.add(
    "wrong answer",
    "server",
    `ended by itself (${server.crash})`,
    server.log.slice(-20).join("\n"),
  );
}

/** When to kill, in milliseconds since the first start: as many as planned, spread without a rhythm, in order. */
export function killMoments(plan: KillPlan, random: Random): number[] {
  const gaps = Array.from({ length: plan.kills }, () => 0.15 + random.next() * 1.7);
  const scale = plan.duration / gaps.reduce((sum, gap) => sum + gap, 0);
  let moment = 0;
  return gaps.map((gap) => (moment += gap * scale));
}

/** Each start takes one of the ways to treat a message that arrives while the assistant works (contract section 3). */
function startServer(place: ServerPlace, random: Random): ServerProcess {
  const onBusy = random.chance(0.35) ? "interrupt" : "enqueue";
  const file = join(place.directory, "colloquy.config.json");
  writeFileSync(file, JSON.stringify({ apps: { default: { models: ["demo/assistant"], onBusy } } }));
  return new ServerProcess({ ...place, environment: { ...place.environment, COLLOQUY_CONFIG: file } });
}

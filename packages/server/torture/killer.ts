// Ends the server with SIGKILL at moments that the seed chooses, and starts it again on the same directory.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Random } from "./harness/random.ts";
import { ServerProcess, type ServerPlace } from "./harness/server-process.ts";
import type { Violations } from "./violations.ts";

export interface KillPlan {
  readonly kills: number;
  /** Milliseconds for which servers are ready, all lives together: a slow machine starts them slowly and gives them no less to do. */
  readonly serving: number;
}

/** How long one server lives. */
export type Life =
  | { readonly endsMsAfter: "ready"; readonly ms: number }
  /** It is killed while it starts, or soon after. */
  | { readonly endsMsAfter: "start"; readonly ms: number };

export interface KillOutcome {
  /** The one that runs at the end. */
  readonly server: ServerProcess;
  readonly kills: number;
  /** What the servers before it logged as errors, a few lines of each. */
  readonly errors: readonly string[];
}

/** Share of the servers that are killed before anybody knows whether they are ready. */
const KILLED_AT_START = 0.15;
/** Milliseconds in which a server starts on a machine of its own, and a little more. */
const STARTING_MS = 1500;
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
  const lives = planLives(plan, random);
  let server = startServer(place, random);
  let kills = 0;
  const errors: string[] = [];
  for (const { endsMsAfter, ms } of lives) {
    if (endsMsAfter === "ready") await untilReadyOrGone(server);
    await sleep(ms, undefined, { signal: stopping }).catch(() => {});
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

/** One that has ended by itself is noted as that. */
async function untilReadyOrGone(server: ServerProcess): Promise<void> {
  await server.ready().catch((error: unknown) => {
    if (server.crash === null) throw error;
  });
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

/** As many lives as there are kills, of lengths without a rhythm. */
export function planLives(plan: KillPlan, random: Random): Life[] {
  const lives = Array.from({ length: plan.kills }, (): Life => {
    return random.chance(KILLED_AT_START)
      ? { endsMsAfter: "start", ms: random.next() * STARTING_MS }
      : { endsMsAfter: "ready", ms: 0.15 + random.next() * 1.7 };
  });
  const served = lives.filter(({ endsMsAfter }) => endsMsAfter === "ready");
  const scale = plan.serving / served.reduce((sum, { ms }) => sum + ms, 0);
  return lives.map((life) => (life.endsMsAfter === "ready" ? { ...life, ms: life.ms * scale } : life));
}

/** Each start takes one of the ways to treat a message that arrives while the assistant works (contract section 3). */
function startServer(place: ServerPlace, random: Random): ServerProcess {
  const onBusy = random.chance(0.35) ? "interrupt" : "enqueue";
  const file = join(place.directory, "colloquy.config.json");
  writeFileSync(file, JSON.stringify({ apps: { default: { models: ["demo/assistant"], onBusy } } }));
  return new ServerProcess({ ...place, environment: { ...place.environment, COLLOQUY_CONFIG: file } });
}

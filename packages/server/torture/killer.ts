// Kills the server with SIGKILL at moments chosen by the seed, and restarts it on the same directory.

import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { CLIENT_TOOLS } from "./client-tools.ts";
import type { Random } from "./harness/random.ts";
import { ServerProcess, type ServerPlace } from "./harness/server-process.ts";
import { OFFICE_PLUGIN } from "./office.ts";
import type { Violations } from "./violations.ts";

export interface KillPlan {
  readonly kills: number;
  /** Total milliseconds with a ready server: slow machines start slowly but get the same load. */
  readonly serving: number;
}

/** How long one server process runs. */
export type Run =
  | { readonly endsMsAfter: "ready"; readonly ms: number }
  /** Killed during its start or soon after. */
  | { readonly endsMsAfter: "start"; readonly ms: number };

interface KilledServer {
  /** File with a backend; `null` for SQLite. */
  readonly config: string | null;
  /** Section of the App of the office. */
  readonly office: object;
  /** Called after each kill and each start. */
  readonly onDisturbed?: () => void;
}

export interface KillOutcome {
  /** The process running at the end. */
  readonly server: ServerProcess;
  readonly kills: number;
  /** Errors logged by earlier processes, a few lines of each. */
  readonly errors: readonly string[];
}

/** Share of processes killed before they are ready. */
const KILLED_AT_START = 0.15;
/** Milliseconds of a typical start, with some margin. */
const STARTING_MS = 1500;
/** Error lines kept per process. */
const ERRORS_KEPT = 3;

/**
 * Kills the server repeatedly, also during its start, and leaves one running. `stopping` ends it early. A
 * server that ends by itself is a violation.
 */
export async function killAndRestart(
  place: ServerPlace,
  { config, office, onDisturbed = () => undefined }: KilledServer,
  plan: KillPlan,
  random: Random,
  violations: Violations,
  stopping: AbortSignal,
): Promise<KillOutcome> {
  const runs = planRuns(plan, random);
  const storage = { plugins: [], ...(config !== null && readStorage(config)) };
  let server = startServer(place, storage, office, random);
  let kills = 0;
  const errors: string[] = [];
  for (const { endsMsAfter, ms } of runs) {
    if (endsMsAfter === "ready") await untilReadyOrGone(server);
    onDisturbed();
    await sleep(ms, undefined, { signal: stopping }).catch(() => {});
    if (stopping.aborted) break;
    noteCrash(server, violations);
    await server.end("SIGKILL");
    onDisturbed();
    errors.push(...errorsOf(server));
    kills += 1;
    server = startServer(place, storage, office, random);
  }
  await server.ready();
  onDisturbed();
  return { server, kills, errors };
}

/** A process that ended by itself is reported as a violation. */
async function untilReadyOrGone(server: ServerProcess): Promise<void> {
  await server.ready().catch((error: unknown) => {
    if (server.crash === null) throw error;
  });
}

/** Returns the first error lines of a server's log. */
export function errorsOf(server: ServerProcess): string[] {
  return server.log.filter((line) => /"level":"(?:error|fatal)"/.test(line)).slice(0, ERRORS_KEPT);
}

/** Adds a violation if the server has ended by itself, with its last log lines. */
export function noteCrash(server: ServerProcess, violations: Violations): void {
  if (server.crash === null) return;
  violations.add(
    "wrong answer",
    "server",
    `ended by itself (${server.crash})`,
    server.log.slice(-20).join("\n"),
  );
}

/** Plans one run time per kill, irregular on purpose. */
export function planRuns(plan: KillPlan, random: Random): Run[] {
  const runs = Array.from({ length: plan.kills }, (): Run => {
    return random.chance(KILLED_AT_START)
      ? { endsMsAfter: "start", ms: random.next() * STARTING_MS }
      : { endsMsAfter: "ready", ms: 0.15 + random.next() * 1.7 };
  });
  const served = runs.filter(({ endsMsAfter }) => endsMsAfter === "ready");
  const scale = plan.serving / served.reduce((sum, { ms }) => sum + ms, 0);
  return runs.map((run) => (run.endsMsAfter === "ready" ? { ...run, ms: run.ms * scale } : run));
}

interface Storage {
  readonly plugins: readonly string[];
  readonly backend?: unknown;
}

/** Reads `plugins` and `backend` from a file. Resolves plugins relative to it. */
function readStorage(file: string): Storage {
  const { plugins = [], backend } = JSON.parse(readFileSync(file, "utf8")) as {
    readonly plugins?: readonly string[];
    readonly backend?: unknown;
  };
  const absolute = plugins.map((name) => (name.startsWith(".") ? resolve(dirname(file), name) : name));
  return { plugins: absolute, backend };
}

/**
 * Each start uses one of the `onBusy` settings (contract section 3). In the office, only people stop a turn, so that nothing else
 * cancels a request.
 */
function startServer(place: ServerPlace, storage: Storage, office: object, random: Random): ServerProcess {
  const onBusy = random.chance(0.35) ? "interrupt" : random.chance(0.4) ? "steer" : "enqueue";
  const officeOnBusy = onBusy === "interrupt" ? "enqueue" : onBusy;
  const file = join(place.directory, "colloquy.config.json");
  const apps = {
    default: { models: ["demo/assistant"], onBusy, clientTools: CLIENT_TOOLS },
    office: { ...office, onBusy: officeOnBusy, clientTools: CLIENT_TOOLS },
  };
  const plugins = [...storage.plugins, OFFICE_PLUGIN];
  writeFileSync(file, JSON.stringify({ ...storage, plugins, apps }));
  return new ServerProcess({ ...place, environment: { ...place.environment, COLLOQUY_CONFIG: file } });
}

// The measured server, built as in main.ts, but with a model that costs nothing, an adjustable clock, and the
// row's limits.

import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { loadConfig } from "../src/config/load-config.ts";
import type { Config } from "../src/config/config.ts";
import { createSystemClock } from "@colloquy/engine/internal/wiring/clock";
import type { UserSettings } from "@colloquy/engine/internal/core/app-settings";
import type { Clock } from "@colloquy/engine/internal/core/ports/driven/clock";
import { createLog } from "../src/wiring/logging.ts";
import { buildServer } from "../src/wiring/server.ts";
import type { RateLimits } from "@colloquy/engine/internal/core/rate-limits";
import { listenOnFreePort } from "./controls/listen.ts";
import { machineMs } from "./machine-clock.ts";
import { createBenchModel, type FollowedCall } from "./models.ts";
import { heapAfterGc, memoryAfterGc, serveRole } from "./role.ts";

export interface ColloquyInput {
  /** The data directory. */
  readonly directory: string;
  readonly limits?: Partial<Config["limits"]>;
  /** True to count requests as on a public bind, with limits that are never reached. */
  readonly isRateLimited?: boolean;
  /** Users of the default App; none when absent. */
  readonly users?: UserSettings | null;
  /** Shared by several nodes; `null` or absent for SQLite. */
  readonly shared?: { readonly databaseUrl: string; readonly natsUrl: string | null } | null;
}

/** Pieces of text that the model streams in the answers to `follow NAME`, rotating over the names. */
export interface PacedText {
  readonly names: readonly string[];
  readonly marks: readonly string[];
  readonly everyMs: number;
}

const RIG = "bench/instant";

const UNREACHED = 1_000_000_000;
const NEVER_REACHED: RateLimits = {
  chatsPerMinute: UNREACHED,
  keyChatsPerMinute: UNREACHED,
  newSessionsPerMinute: UNREACHED,
  readsPerMinute: UNREACHED,
  sessionReadsPerMinute: UNREACHED,
  writesPerMinute: UNREACHED,
  sessionWritesPerMinute: UNREACHED,
  writtenBytesPerMinute: 1000 * UNREACHED,
  appWrittenBytesPerMinute: 1000 * UNREACHED,
  streamsPerAddress: UNREACHED,
  streamsPerSession: UNREACHED,
  connectionsPerAddress: UNREACHED,
  bodyBytesPerAddress: UNREACHED,
};

async function build(input: ColloquyInput) {
  const environment = {
    PORT: "0",
    HOST: "127.0.0.1",
    COLLOQUY_DATA_DIR: input.directory,
    COLLOQUY_LOG_LEVEL: "warn",
    ...(input.isRateLimited === true && { COLLOQUY_TRUSTED_PROXIES: "127.0.0.1" }),
    ...sharedEnvironment(input.shared ?? null),
  };
  const loaded = await loadConfig({ environment, workingDirectory: input.directory });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  const { clock, advance } = createAdjustableClock();
  const { model, calls, pieces, open, say } = createBenchModel();
  const server = await buildServer(benchConfig(loaded.config, input), {
    logger: createLog({ level: "error", destination: 2, readable: false }).logger,
    onFatal: (error) => {
      throw error;
    },
    clock,
    models: { [RIG]: model },
  });
  const { url } = await server.listen();
  const triggers = createTriggers(say);
  const triggerPort = await listenOnFreePort(triggers);
  const handlers = {
    port: () => Number(new URL(url).port),
    /** Port where a POST makes the model emit text, as the control's streams emit an event. */
    triggerPort: () => triggerPort,
    memory: () => memoryAfterGc(),
    heap: () => heapAfterGc(),
    openGate: () => open(),
    /** Advances the clock; running timers are not affected. */
    advance: (milliseconds: number) => advance(milliseconds),
    cleanUp: () => server.cleanUp(),
    /** CPU milliseconds used by this process. */
    processorMs: () => processorMs(),
    /** Number of pieces emitted so far by all answers to "stream". */
    pieces: () => pieces(),
    /** Model calls that answer "follow NAME", by name. */
    calls: (): Readonly<Record<string, FollowedCall>> => Object.fromEntries(calls),
    /** Returns when the model emitted each mark, on the machine's clock. */
    sayPaced: (text: PacedText) => sayPaced(text, say),
  };
  const stop = async () => {
    triggers.closeAllConnections();
    await server.stop({ graceMs: 0 });
  };
  return { handlers, stop };
}

export type ColloquyHandlers = Awaited<ReturnType<typeof build>>["handlers"];

export async function startColloquy(input: ColloquyInput): Promise<void> {
  const { handlers, stop } = await build(input);
  serveRole(handlers, stop);
}

function sharedEnvironment(shared: ColloquyInput["shared"]): Readonly<Record<string, string>> {
  if (shared === null || shared === undefined) return {};
  const { databaseUrl, natsUrl } = shared;
  return {
    COLLOQUY_DATABASE_URL: databaseUrl,
    ...(natsUrl !== null && { COLLOQUY_NATS_URL: natsUrl }),
  };
}

function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

async function sayPaced(
  { names, marks, everyMs }: PacedText,
  say: (name: string, text: string) => void,
): Promise<readonly (readonly [mark: string, saidAt: number])[]> {
  const said: [string, number][] = [];
  for (const [index, mark] of marks.entries()) {
    said.push([mark, machineMs()]);
    say(names[index % names.length] ?? "", `${mark} `);
    await sleep(everyMs);
  }
  return said;
}

/** Uses the demo model's fallback for titles, which makes no call. */
function benchConfig(config: Config, { limits = {}, users = null }: ColloquyInput): Config {
  const byDefault = config.apps["default"];
  if (byDefault === undefined) throw new Error("The configuration has no default App");
  const app = {
    ...byDefault,
    models: [RIG],
    utilityModel: "demo/assistant",
    users,
    tools: { ...byDefault.tools, builtIn: [] },
  };
  return {
    ...config,
    server: { ...config.server, rateLimits: NEVER_REACHED },
    apps: { default: app },
    limits: { ...config.limits, ...limits },
  };
}

/** Handles requests like the control, so that only the rest differs. */
function createTriggers(say: (name: string, text: string) => void) {
  return createServer((request, response) => {
    const url = new URL(request.url ?? "", "http://trigger");
    say(url.searchParams.get("stream") ?? "", `${url.searchParams.get("mark") ?? ""} `);
    response.writeHead(200, { "content-length": 2 });
    response.end("{}");
  });
}

function createAdjustableClock(): {
  readonly clock: Clock;
  readonly advance: (milliseconds: number) => void;
} {
  const system = createSystemClock();
  let ahead = 0;
  const clock = {
    ...system,
    now: () => system.now() + ahead,
    monotonic: () => system.monotonic() + ahead,
  };
  return { clock, advance: (milliseconds) => (ahead += milliseconds) };
}

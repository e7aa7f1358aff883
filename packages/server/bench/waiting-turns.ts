// node --expose-gc packages/server/bench/waiting-turns.ts [-- --turns 10000]
//
// Measures the memory and slots of turns that wait for an approval. One slot must suffice for all turns, and
// the memory must return to its initial value once their sessions are evicted.

import { randomUUID } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createSystemClock } from "@colloquy/engine/internal/wiring/clock";
import { loadConfig } from "../src/config/load-config.ts";
import { createLog } from "../src/wiring/logging.ts";
import { buildServer } from "../src/wiring/server.ts";
import { parseArguments } from "../torture/harness/arguments.ts";
import { memoryAfterGc } from "./role.ts";

const CONFIG = {
  apps: {
    default: {
      models: ["demo/assistant"],
      tools: ["calculator"],
      approvals: { calculator: { when: "always", expiresAfter: "30d" } },
    },
  },
  limits: { maxRunning: 1, idleMemoryMs: 1_000 },
};
const CONNECTIONS = 32;
const WARM_UP = 500;
/** Exceeds the idle time before a session's eviction plus the interval of the check. */
const IDLE_MS = 65_000;

const { turns } = parseArguments(process.argv.slice(2), { turns: 10_000 });
const directory = await mkdtemp(join(tmpdir(), "colloquy-waiting-"));
await writeFile(join(directory, "colloquy.config.json"), JSON.stringify(CONFIG));
const environment = { HOST: "127.0.0.1", PORT: "0", COLLOQUY_DATA_DIR: directory };
const loaded = await loadConfig({ environment, workingDirectory: directory });
if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
const server = await buildServer(loaded.config, {
  logger: createLog({ level: "error", destination: 2, readable: false }).logger,
  onFatal: (error) => {
    throw error;
  },
  clock: createSystemClock(),
});
const { url } = await server.listen();

async function ask(message: string, wait: number): Promise<{ readonly pending_actions: readonly unknown[] }> {
  const answer = await fetch(`${url}/api/chat?message=${encodeURIComponent(message)}`, {
    method: "POST",
    headers: { "X-Session-Id": randomUUID(), Prefer: `wait=${wait}` },
  });
  if (!answer.ok) throw new Error(await answer.text());
  return (await answer.json()) as { readonly pending_actions: readonly unknown[] };
}

/** Starts turns. Resolves once all of them wait for an approval. */
async function begin(count: number): Promise<void> {
  let left = count;
  const work = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const { pending_actions: pending } = await ask("what is 12 * 7?", 60);
      if (pending.length !== 1) throw new Error("The turn does not wait");
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, work));
}

/** Returns the bytes of the JavaScript heap and of buffers. */
async function memory(): Promise<number> {
  await memoryAfterGc();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

async function memoryWhenIdle(): Promise<number> {
  await sleep(IDLE_MS);
  return await memory();
}

try {
  await begin(WARM_UP);
  const before = await memoryWhenIdle();
  await begin(turns);
  const held = await memory();
  const after = await memoryWhenIdle();
  const { pending_actions: pending } = await ask("hello", 20);
  const kib = (bytes: number): string => `${(bytes / 1024 / turns).toFixed(2)} KiB`;
  console.log(`${turns} waiting turns, one slot: each ${kib(held - before)} while its session is cached,`);
  console.log(
    `${kib(after - before)} afterwards; another turn ${pending.length === 0 ? "ran" : "waited"} beside them.`,
  );
} finally {
  await server.stop({ graceMs: 1_000 });
  await rm(directory, { recursive: true, force: true });
}

// A process whose log cannot be written keeps running, and stops on request.

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { closeSync, constants, existsSync, openSync, writeSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { BARE_ENVIRONMENT } from "../../test/bare-environment.ts";
import { findFreePort } from "../../torture/harness/server-process.ts";

const MAIN = fileURLToPath(import.meta.resolve("../main.ts"));
const SESSION = "3c9d2f4e-5a61-4b7c-8d90-a1b2c3d4e5f6";

let directory = "";
let child: ChildProcess | null = null;
let open: number[] = [];

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "colloquy-broken-log-"));
});
afterEach(async () => {
  if (child?.exitCode === null && child.signalCode === null) {
    child.kill("SIGKILL");
    await once(child, "exit");
  }
  for (const descriptor of open.splice(0)) closeSync(descriptor);
  open = [];
  await rm(directory, { recursive: true });
});

/** Starts a service whose log goes to this descriptor. */
async function startWithLog(log: number) {
  const port = await findFreePort();
  const started = spawn(process.execPath, [MAIN], {
    cwd: directory,
    env: { ...BARE_ENVIRONMENT, PORT: String(port) },
    stdio: ["ignore", log, "pipe"],
  });
  child = started;
  const exit = once(started, "exit") as Promise<[number | null, string | null]>;
  const address = `http://127.0.0.1:${port}`;
  const get = async (path: string): Promise<string> => (await fetch(`${address}${path}`)).text();
  while ((await get("/healthz").catch(() => null)) === null) {
    if (started.exitCode !== null) throw new Error("It ended before it answered");
    await new Promise(setImmediate);
  }
  const stop = async (): Promise<readonly [number | null, string | null]> => {
    started.kill("SIGTERM");
    return await exit;
  };
  const chat = async (): Promise<number> => {
    const headers = { "X-Session-Id": SESSION, Prefer: "wait=10" };
    return (await fetch(`${address}/api/chat?message=hello`, { method: "POST", headers })).status;
  };
  return { get, chat, stop };
}

/** Opens the writing end of a full pipe without a reader. */
function fullPipe(): number {
  const pipe = join(directory, "pipe");
  spawnSync("mkfifo", [pipe]);
  const reading = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK);
  const filling = openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK);
  // A blocking descriptor, as a shell passes it.
  const writing = openSync(pipe, constants.O_WRONLY);
  open = [reading, filling, writing];
  const filler = Buffer.alloc(65_536, "x");
  for (const size of [65_536, 4_096, 1]) {
    try {
      for (;;) writeSync(filling, filler.subarray(0, size));
    } catch {}
  }
  return writing;
}

describe("a log that cannot be written", () => {
  it.skipIf(!existsSync("/dev/full"))(
    "on a full disk counts lost lines; the service keeps running and exits with 0",
    async () => {
      const log = openSync("/dev/full", "w");
      open = [log];
      const { get, chat, stop } = await startWithLog(log);
      expect(await chat()).toBe(200);
      expect(await get("/metrics")).toMatch(/^colloquy_log_lines_lost_total [1-9]\d*$/m);
      expect(await get("/healthz")).toContain("ok");
      expect(await stop()).toEqual([0, null]);
    },
  );

  it.skipIf(process.platform === "win32")(
    "delays neither the service nor its exit if its reader stalls",
    async () => {
      const { chat, stop } = await startWithLog(fullPipe());
      expect(await chat()).toBe(200);
      expect(await stop()).toEqual([0, null]);
    },
  );

  it.skipIf(process.platform === "win32")("delays nothing if its reader is gone", async () => {
    const { get, chat, stop } = await startWithLog(fullPipe());
    for (const descriptor of open.splice(0)) closeSync(descriptor);
    expect(await chat()).toBe(200);
    expect(await get("/metrics")).toMatch(/^colloquy_log_lines_lost_total \d+$/m);
    expect(await stop()).toEqual([0, null]);
  });
});

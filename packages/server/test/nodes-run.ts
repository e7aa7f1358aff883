// `npm run test:nodes`: the black-box suites against three nodes on one PostgreSQL server, behind a proxy that gives each request to
// another node than the one before.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { PostgresServer } from "./postgres-server.ts";

const NODES = 3;
const vitest = join(import.meta.dirname, "../../../node_modules/vitest/vitest.mjs");

const server = await PostgresServer.start({ max_connections: 400 });
try {
  const suites = join("packages", "server", "test", "black-box");
  const child = spawn(process.execPath, [vitest, "run", suites, ...process.argv.slice(2)], {
    stdio: "inherit",
    env: {
      ...process.env,
      COLLOQUY_TEST_NODES: String(NODES),
      COLLOQUY_TEST_POSTGRES: server.url("").replace(/\/$/, ""),
    },
  });
  const [code] = (await once(child, "exit")) as [number | null];
  process.exitCode = code ?? 1;
} finally {
  await server.stop();
}

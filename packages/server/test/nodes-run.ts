// `npm run test:nodes`: the black-box suites on three nodes with one PostgreSQL server, behind a proxy that
// sends each request to another node than the one before. Every second file uses NATS, if installed.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { isWithoutNats, NatsServer } from "./nats-server.ts";
import { PostgresServer } from "./postgres-server.ts";

const NODES = 3;
const vitest = join(import.meta.dirname, "../../../node_modules/vitest/vitest.mjs");

const nats = (await isWithoutNats()) ? null : await NatsServer.start();
if (nats === null)
  process.stderr.write("NATS is not installed: the database carries what nodes tell each other.\n");
const server = await PostgresServer.start({ max_connections: 400 });
try {
  const suites = join("packages", "server", "test", "black-box");
  const child = spawn(process.execPath, [vitest, "run", suites, ...process.argv.slice(2)], {
    stdio: "inherit",
    env: {
      ...process.env,
      COLLOQUY_TEST_NODES: String(NODES),
      COLLOQUY_TEST_POSTGRES: server.url("").replace(/\/$/, ""),
      ...(nats !== null && { COLLOQUY_TEST_NATS: `nats://127.0.0.1:${nats.port}` }),
    },
  });
  const [code] = (await once(child, "exit")) as [number | null];
  process.exitCode = code ?? 1;
} finally {
  await nats?.stop();
  await server.stop();
}

// The tests that `npm run test:node24` runs on Node 24: only those whose outcome depends on Node itself. Add
// a line for every difference found between versions of Node.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { projectSettings, runSettings } from "../../vitest.config.ts";

const ROOT = join(import.meta.dirname, "../..");

const SERVER = "packages/server";
const CLIENT = "packages/client/test";

/** Files, and folders with everything below them. */
const DECIDED_BY_NODE = [
  // Loading of all modules with erased types, and of configuration files of every kind.
  `${SERVER}/test/modules.test.ts`,
  `${SERVER}/src/config/import-fresh.test.ts`,
  `${SERVER}/src/config/define-config.test.ts`,
  // The process: arguments, exit codes, signals, shutdown, output, and failing logs or disks.
  `${SERVER}/src/main.test.ts`,
  `${SERVER}/src/broken-log.test.ts`,
  `${SERVER}/test/stopping.test.ts`,
  `${SERVER}/test/full-disk.test.ts`,
  `${SERVER}/test/command-line/one-answer.test.ts`,
  `${SERVER}/src/cli/completion`,
  // node:sqlite in its worker thread.
  `${SERVER}/src/store/sqlite`,
  `${SERVER}/src/storage.test.ts`,
  // Incoming HTTP: parser, streams, broken connections, and a service that is killed and restarted.
  `${SERVER}/src/http/app.test.ts`,
  `${SERVER}/src/http/parser-errors.test.ts`,
  `${SERVER}/src/http/event-stream.test.ts`,
  `${SERVER}/src/http/json-text.test.ts`,
  `${SERVER}/src/http/console.test.ts`,
  `${SERVER}/src/http/routes/subscribe.test.ts`,
  `${SERVER}/test/black-box/send-message.test.ts`,
  `${SERVER}/test/black-box/subscribe.test.ts`,
  `${SERVER}/test/black-box/interrupt.test.ts`,
  `${SERVER}/test/black-box/refusals.test.ts`,
  `${SERVER}/test/black-box/restart.test.ts`,
  // Outgoing connections: fetch, its agents and streams, to models, tools, databases and other nodes.
  `${SERVER}/src/tools/outbound`,
  `${SERVER}/src/tools/mcp/bounded-fetch.test.ts`,
  `${SERVER}/src/tools/mcp/everything.test.ts`,
  `${SERVER}/src/tools/mcp/stdio-transport.test.ts`,
  `${SERVER}/test/providers/conversations.test.ts`,
  `${SERVER}/src/store/postgres/open.test.ts`,
  `${SERVER}/src/bus/postgres-transport.test.ts`,
  `${SERVER}/src/bus/nats-transport.test.ts`,
  // Cryptography.
  `${SERVER}/src/apps/secrets`,
  `${SERVER}/src/apps/keys`,
  // The published client in Node programs.
  "packages/client/src",
  `${CLIENT}/package.test.ts`,
  `${CLIENT}/live-session.test.ts`,
  `${CLIENT}/session-follower.test.ts`,
  `${CLIENT}/requests.test.ts`,
];

const missing = DECIDED_BY_NODE.filter((path) => !existsSync(join(ROOT, path)));
if (missing.length > 0) {
  throw new Error(`test/node24/vitest.config.ts names files that do not exist: ${missing.join(", ")}`);
}

export default defineConfig({
  root: ROOT,
  test: {
    ...runSettings,
    ...projectSettings,
    include: DECIDED_BY_NODE.map((path) => (path.endsWith(".ts") ? path : `${path}/**/*.test.ts`)),
  },
});

// Which tests run when, and which share a worker.

/** Fast files that permanently change the globals of their process, so each has its own worker. */
export const ISOLATED: readonly string[] = ["packages/react/test/**/*.test.tsx"];

/** Files that `npm test` leaves to `npm run test:all`. Each has its own worker. */
export const SLOW: readonly string[] = [
  // Pages in a browser, and the screenshots of the documentation.
  "packages/*/test/chromium/**/*.test.ts",
  "test/browser/**/*.test.ts",
  // Packages, images and installations, created and used as users do.
  "packages/{client,react}/test/package.test.ts",
  "packages/client/test/runtimes.test.ts",
  "packages/react/test/examples.test.tsx",
  "packages/server/test/{deploy,your-server}/**/*.test.ts",
  "packages/server/test/first-app.test.ts",
  "test/{packages,published-packages}.test.ts",
  "test/stats.test.ts",
  // Commands in a terminal.
  "packages/server/test/command-line/**/*.test.ts",
  // The protocols of model providers, answers of hostile models, and random requests.
  "packages/server/test/providers/**/*.test.ts",
  "packages/server/test/hostile-model.test.ts",
  "packages/server/fuzz/fuzz-run.test.ts",
  // Parsers and models that need seconds of measurement or search.
  "packages/console/src/markdown/markdown-cost.test.ts",
  "packages/server/test/lease-model/lease-model.test.ts",
  // Processes that are started, killed, or whose memory, disk and files are inspected from outside.
  "packages/server/src/{main,main-reload,main-dev}.test.ts",
  "packages/server/src/wiring/broken-log.test.ts",
  "packages/server/src/tools/mcp/stdio-transport.test.ts",
  "packages/server/test/stopping.test.ts",
  "packages/server/test/black-box/restart.test.ts",
  "packages/server/test/{data-at-rest,environment-block,full-disk,secrets,unread-responses}.test.ts",
  "packages/server/test/effects/**/*.test.ts",
  // Interleavings of events, and databases that several nodes share, that fail or that are moved. The
  // contract of the store is in `npm test`.
  "packages/server/test/{interleavings,nodes-*,nodes,chat-on-a-failing-database,stopping-node,rate-limits,keys-on-nodes}.test.ts",
  "packages/server/src/store/postgres/{failing,migrate,nodes,held-sessions,tables,open}.test.ts",
  "packages/server/src/moving/{migrate,moved-tables,sessions}.test.ts",
  "packages/server/src/{cli/moving,doctor/examine}.test.ts",
  "packages/server/test/postgres-server.test.ts",
];

/** Files that take long although they are small: the sequencer starts them first. */
export const LONG: readonly string[] = [
  "packages/server/test/chromium/reference.test.ts",
  "packages/server/src/store/sqlite/store.test.ts",
  "packages/server/src/store/postgres/store.test.ts",
  "packages/server/test/command-line/examples.test.ts",
  "packages/server/test/deploy/dockerfile.test.ts",
  "packages/server/test/black-box/restart.test.ts",
  "packages/server/test/interleavings.test.ts",
  "packages/server/test/nodes-interleavings.test.ts",
  "packages/console/src/markdown/markdown-cost.test.ts",
  "packages/console/test/previous-build.test.ts",
  "test/browser/guide.test.ts",
];

const SERVER = "packages/server";
const CLIENT = "packages/client/test";

/**
 * Files whose outcome depends on Node itself, so they run on Node 24 as well. Add a line for every difference
 * found between versions of Node.
 */
export const ON_NODE_24: readonly string[] = [
  // Loading of all modules with erased types, and of configuration files of every kind.
  `${SERVER}/test/modules.test.ts`,
  `${SERVER}/src/config/import-fresh.test.ts`,
  `${SERVER}/src/config/define-config.test.ts`,
  // The process: arguments, exit codes, signals, shutdown, output, and failing logs or disks.
  `${SERVER}/src/main.test.ts`,
  `${SERVER}/src/wiring/broken-log.test.ts`,
  `${SERVER}/test/stopping.test.ts`,
  `${SERVER}/test/full-disk.test.ts`,
  `${SERVER}/test/command-line/one-answer.test.ts`,
  `${SERVER}/src/cli/completion.test.ts`,
  // node:sqlite in its worker thread.
  `${SERVER}/src/store/sqlite/**/*.test.ts`,
  `${SERVER}/src/wiring/storage.test.ts`,
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
  `${SERVER}/src/tools/outbound/**/*.test.ts`,
  `${SERVER}/src/tools/mcp/bounded-fetch.test.ts`,
  `${SERVER}/src/tools/mcp/everything.test.ts`,
  `${SERVER}/src/tools/mcp/stdio-transport.test.ts`,
  `${SERVER}/test/providers/conversations.test.ts`,
  `${SERVER}/src/store/postgres/open.test.ts`,
  `${SERVER}/src/bus/postgres-transport.test.ts`,
  `${SERVER}/src/bus/nats-transport.test.ts`,
  // Cryptography.
  `${SERVER}/src/apps/secrets/**/*.test.ts`,
  `${SERVER}/src/apps/keys/**/*.test.ts`,
  // The published client in Node programs.
  "packages/client/src/**/*.test.ts",
  `${CLIENT}/package.test.ts`,
  `${CLIENT}/live-session.test.ts`,
  `${CLIENT}/session-follower.test.ts`,
  `${CLIENT}/requests.test.ts`,
];

// Assigns test files to Vitest's projects and workers, and to the run on Node 24.

/** Fast files that change the globals of their process for good. Each has its own worker. */
export const ISOLATED: readonly string[] = ["packages/react/test/**/*.test.tsx"];

/** Files that `npm test` leaves to `npm run test:all`. Each has its own worker. */
export const SLOW: readonly string[] = [
  // Browser tests, and the screenshots of the documentation.
  "packages/*/test/chromium/**/*.test.ts",
  "test/browser/**/*.test.ts",
  // Tests that build packages and images, and install and use them as users do.
  "packages/{client,react,ui}/test/package.test.ts",
  "packages/client/test/runtimes.test.ts",
  "packages/react/test/examples.test.tsx",
  "packages/server/test/{deploy,your-server}/**/*.test.ts",
  "packages/server/test/first-app.test.ts",
  "test/{front-end-builds,packages,plugin-guide,published-packages}.test.ts",
  // The test runs themselves: reporters, statistics, and the run without Debian's programs.
  "test/embed-guide.test.ts",
  "test/{installations,left-out-reporter,test-reports,without-programs}.test.ts",
  // Commands in real shells, and configuration files in processes of their own.
  "packages/console/src/developer/curl.test.ts",
  // Tests of the command line in a terminal.
  "packages/server/test/command-line/**/*.test.ts",
  // Protocols of model providers, hostile models, and requests that are random or as heavy as possible.
  "packages/server/test/providers/**/*.test.ts",
  // Real tool servers and documents, and the protocol's conformance suite.
  "packages/server/test/{mcp-conformance,tool-servers}/**/*.test.ts",
  "packages/server/test/hostile-{bodies,model}.test.ts",
  "packages/server/fuzz/{fuzz,answers}-run.test.ts",
  // Measurements and state-space searches that take seconds.
  "packages/engine/src/sessions/summaries.test.ts",
  "packages/ui/src/markdown/markdown-cost.test.ts",
  "packages/server/test/lease-model/lease-model.test.ts",
  // Tests that start and kill processes, or inspect their memory, disk and files from outside.
  "packages/server/src/{main,main-dev}.test.ts",
  "packages/server/src/wiring/broken-log.test.ts",
  "packages/mcp/src/stdio-transport.test.ts",
  "packages/server/test/stopping.test.ts",
  "packages/server/test/black-box/{restart,killed-during-actions}.test.ts",
  "packages/server/test/{data-at-rest,environment-block,full-disk,lost-disk,secrets,unread-responses}.test.ts",
  "packages/server/test/effects/**/*.test.ts",
  "packages/server/test/{ag-ui,aomi,mcp-server,openai}/killed.test.ts",
  "packages/server/test/{acp,one-conversation}.test.ts",
  "packages/server/test/openai/other-clients.test.ts",
  // Interleavings of events, and databases that are shared, failing or migrated. `npm test` includes the
  // store's contract suite.
  "packages/server/test/{interleavings,nodes-*,nodes,chat-on-a-failing-database,standby-failover,stopping-node,rate-limits,keys-on-nodes}.test.ts",
  "packages/postgres/src/{failing,migrate,nodes,held-sessions,standby,tables,open,unusable-servers}.test.ts",
  "packages/server/src/moving/{migrate,moved-tables,sessions}.test.ts",
  "packages/server/src/{cli/moving,doctor/examine}.test.ts",
  "packages/server/test/postgres-server.test.ts",
  // Environments of operators: poolers, proxies, containers, and the previous release.
  "packages/server/test/environments/**/*.test.ts",
];

/** Small files that take long. The sequencer starts them first, instead of by size. */
export const LONG: readonly string[] = [
  "packages/server/test/chromium/reference.test.ts",
  "packages/engine/src/store/sqlite/store.test.ts",
  "packages/postgres/src/store.test.ts",
  "packages/server/test/command-line/examples.test.ts",
  "packages/server/test/deploy/dockerfile.test.ts",
  "packages/server/test/black-box/restart.test.ts",
  "packages/server/test/interleavings.test.ts",
  "packages/server/test/nodes-interleavings.test.ts",
  "packages/ui/src/markdown/markdown-cost.test.ts",
  "packages/console/test/previous-build.test.ts",
  "test/browser/guide.test.ts",
];

const ENGINE = "packages/engine";
const SERVER = "packages/server";
const CLIENT = "packages/client/test";

/**
 * Files whose outcome may depend on the version of Node. They also run on Node 24.
 */
export const ON_NODE_24: readonly string[] = [
  // Module loading with erased types, and configuration files of every kind.
  `${SERVER}/test/modules.test.ts`,
  `${SERVER}/src/config/define-config.test.ts`,
  // Processes: arguments, exit codes, signals, shutdown, output, and failing logs or disks.
  `${SERVER}/src/main.test.ts`,
  `${SERVER}/src/wiring/broken-log.test.ts`,
  `${SERVER}/test/stopping.test.ts`,
  `${SERVER}/test/full-disk.test.ts`,
  `${SERVER}/test/lost-disk.test.ts`,
  `${SERVER}/test/command-line/one-answer.test.ts`,
  `${SERVER}/src/cli/completion.test.ts`,
  // `node:sqlite` in a worker thread.
  `${ENGINE}/src/store/sqlite/**/*.test.ts`,
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
  `${ENGINE}/src/tools/outbound/**/*.test.ts`,
  "packages/mcp/src/bounded-fetch.test.ts",
  "packages/mcp/src/everything.test.ts",
  "packages/mcp/src/stdio-transport.test.ts",
  `${SERVER}/test/providers/conversations.test.ts`,
  "packages/postgres/src/open.test.ts",
  "packages/postgres/src/transport.test.ts",
  "packages/nats/src/transport.test.ts",
  // Cryptography.
  `${ENGINE}/src/apps/secrets/**/*.test.ts`,
  `${ENGINE}/src/apps/keys/**/*.test.ts`,
  // The published client in Node.
  "packages/client/src/**/*.test.ts",
  `${CLIENT}/package.test.ts`,
  `${CLIENT}/live-session.test.ts`,
  `${CLIENT}/session-follower.test.ts`,
  `${CLIENT}/requests.test.ts`,
];

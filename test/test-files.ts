// Which tests run when, and beside which others.

/** Fast files that change the globals of their process for good: each has a worker of its own. */
export const ISOLATED: readonly string[] = ["packages/react/test/**/*.test.tsx"];

/** Files that `npm test` leaves to `npm run test:all`. Each has a worker of its own. */
export const SLOW: readonly string[] = [
  // Pages in a browser, and the pictures of the documentation.
  "packages/*/test/chromium/**/*.test.ts",
  "test/browser/**/*.test.ts",
  // Packages, images and installations, made and used as users do.
  "packages/{client,react}/test/package.test.ts",
  "packages/client/test/runtimes.test.ts",
  "packages/react/test/examples.test.tsx",
  "packages/server/test/deploy/**/*.test.ts",
  "packages/server/test/first-app.test.ts",
  "test/install.test.ts",
  "test/stats.test.ts",
  // Commands in a terminal.
  "packages/server/test/command-line/**/*.test.ts",
  // Parsers and models that are measured or searched for seconds.
  "packages/console/src/markdown/markdown-cost.test.ts",
  "packages/server/test/lease-model/lease-model.test.ts",
  // Processes that are killed, or whose memory, disk and files are looked at from outside.
  "packages/server/src/broken-log.test.ts",
  "packages/server/test/black-box/restart.test.ts",
  "packages/server/test/{data-at-rest,environment-block,full-disk,secrets,unread-responses}.test.ts",
  "packages/server/test/effects/**/*.test.ts",
  // Every order of events, and databases that several nodes share, that fail or that are moved. The contract of the store is in `npm test`.
  "packages/server/test/{interleavings,nodes-*,nodes,chat-on-a-failing-database,stopping-node,rate-limits,keys-on-nodes}.test.ts",
  "packages/server/src/store/postgres/{failing,migrate,nodes,held-sessions,tables,open}.test.ts",
  "packages/server/src/moving/{migrate,moved-tables}.test.ts",
  "packages/server/test/postgres-server.test.ts",
];

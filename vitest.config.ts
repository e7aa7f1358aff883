import { availableParallelism } from "node:os";
import { join } from "node:path";
import { configDefaults, defineConfig, type ViteUserConfig } from "vitest/config";
import { LAST_RUN, LastRunReporter } from "./test/last-run-reporter.ts";
import LeftOutReporter from "./test/left-out-reporter.ts";
import { LongFilesFirst } from "./test/long-files-first.ts";
import { ISOLATED, SLOW } from "./test/test-files.ts";

// Tests start hundreds of servers and threads of the store, each of which loads the same TypeScript: compiled once, they cost a third.
process.env["NODE_COMPILE_CACHE"] ??= join(import.meta.dirname, "node_modules/.cache/node-compile");

const FILES = ["packages/*/{src,test,bench,torture,fuzz}/**/*.test.{ts,tsx}", "test/**/*.test.ts"];

/** Where a report for scripts/test-reports.js goes. */
const REPORT = process.env["COLLOQUY_TEST_REPORT"];

/** Settings of a project. */
export const projectSettings = {
  // A process: signals and open ports of one worker cannot touch another's.
  pool: "forks",
  // Room for a slow, shared machine. No test is timed: this only ends one that hangs.
  testTimeout: 60_000,
  // They start services, databases and browsers.
  hookTimeout: 120_000,
  expect: { poll: { timeout: 20_000 } },
} as const;

/** Settings of a run. */
export const runSettings = {
  // More than there are cores: while some of these files wait, for a disk, a process or a time to pass, others have the machine.
  maxWorkers: Math.ceil(availableParallelism() * 1.5),
  passWithNoTests: false,
  sequence: { sequencer: LongFilesFirst },
  globalSetup: ["test/shared-programs.ts", "packages/server/test/postgres-cluster.ts"],
  reporters: [
    "default",
    new LeftOutReporter(),
    new LastRunReporter(LAST_RUN),
    ...(REPORT === undefined ? [] : [["json", { outputFile: REPORT }] as ["json", { outputFile: string }]]),
  ],
} satisfies ViteUserConfig["test"];

export default defineConfig({
  test: {
    ...runSettings,
    // `npm test` runs the fast ones, `npm run test:all` all of them.
    projects: [
      {
        test: {
          ...projectSettings,
          name: "fast",
          include: FILES,
          exclude: [...configDefaults.exclude, ...SLOW, ...ISOLATED],
          // Files share a worker's modules, and leave its environment and globals as they found them.
          isolate: false,
        },
      },
      {
        test: {
          ...projectSettings,
          name: "fast-isolated",
          include: [...ISOLATED],
          exclude: [...configDefaults.exclude, ...SLOW],
        },
      },
      // They start programs, which share the machine with the torture.
      { test: { ...projectSettings, name: "slow", include: [...SLOW], testTimeout: 180_000 } },
    ],
  },
});

import { availableParallelism } from "node:os";
import { join } from "node:path";
import { configDefaults, defineConfig, type ViteUserConfig } from "vitest/config";
import LeftOutReporter from "./test/left-out-reporter.ts";
import { LongFilesFirst } from "./test/long-files-first.ts";
import { ISOLATED, SLOW } from "./test/test-files.ts";

// Tests start hundreds of servers and store threads. Caching the compiled TypeScript cuts their start to a third.
process.env["NODE_COMPILE_CACHE"] ??= join(import.meta.dirname, "node_modules/.cache/node-compile");

const FILES = ["packages/*/{src,test,bench,torture,fuzz}/**/*.test.{ts,tsx}", "test/**/*.test.ts"];

/** Path of the JSON report that scripts/test-reports.js reads, if one is wanted. */
const REPORT = process.env["COLLOQUY_TEST_REPORT"];

/** Settings of each project. */
export const projectSettings = {
  // Processes instead of threads, so that tests may use signals, environment variables and `process.chdir`.
  pool: "forks",
  // Ends a test that hangs, even on a slow machine. No test measures time with it.
  testTimeout: 60_000,
  // Hooks start services, databases and browsers.
  hookTimeout: 120_000,
  expect: { poll: { timeout: 20_000 } },
} as const;

/** Settings of a whole test run. */
export const runSettings = {
  // More workers than cores, because most files wait for disks, processes or timers.
  maxWorkers: Math.ceil(availableParallelism() * 1.5),
  passWithNoTests: false,
  // The issuer of the tests warns at every start that it keeps its data in memory.
  onConsoleLog: (text) => !text.includes("oidc-provider WARNING"),
  sequence: { sequencer: LongFilesFirst },
  globalSetup: ["test/shared-programs.ts", "packages/server/test/postgres-cluster.ts"],
  reporters: [
    "default",
    new LeftOutReporter(),
    ...(REPORT === undefined ? [] : [["json", { outputFile: REPORT }] as ["json", { outputFile: string }]]),
  ],
} satisfies ViteUserConfig["test"];

export default defineConfig({
  test: {
    ...runSettings,
    // `npm test` runs the two fast projects, `npm run test:all` runs all three.
    projects: [
      {
        test: {
          ...projectSettings,
          name: "fast",
          include: FILES,
          exclude: [...configDefaults.exclude, ...SLOW, ...ISOLATED],
          // Files share their worker's modules, so each must restore the environment and globals it changes.
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
      // These tests start many programs, so each gets more time.
      { test: { ...projectSettings, name: "slow", include: [...SLOW], testTimeout: 180_000 } },
    ],
  },
});

import { availableParallelism } from "node:os";
import { join } from "node:path";
import { defineConfig } from "vitest/config";
import LeftOutReporter from "./test/left-out-reporter.ts";
import { LongFilesFirst } from "./test/long-files-first.ts";

// Tests start hundreds of servers and threads of the store, each of which loads the same TypeScript: compiled once, they cost a third.
process.env["NODE_COMPILE_CACHE"] ??= join(import.meta.dirname, "node_modules/.cache/node-compile");

export default defineConfig({
  test: {
    include: ["packages/*/{src,test,bench,torture,fuzz}/**/*.test.{ts,tsx}", "test/**/*.test.ts"],
    // A process for each file: node:sqlite, worker threads, signals and open ports of one file cannot touch another's.
    pool: "forks",
    isolate: true,
    // More than there are cores: while some of these files wait, for a disk, a process or a time to pass, others have the machine.
    maxWorkers: Math.ceil(availableParallelism() * 1.5),
    // Room for a slow, shared machine. No test is timed: this only ends one that hangs.
    testTimeout: 30_000,
    // They start services, databases and browsers.
    hookTimeout: 120_000,
    expect: { poll: { timeout: 20_000 } },
    passWithNoTests: false,
    sequence: { sequencer: LongFilesFirst },
    // PostgreSQL for those files that start a server, made once.
    globalSetup: ["packages/server/test/postgres-cluster.ts"],
    reporters: ["default", new LeftOutReporter()],
  },
});

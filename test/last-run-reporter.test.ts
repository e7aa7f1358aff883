import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, it } from "vitest";
import { readRuns } from "./last-run-reporter.ts";

const VITEST = join(import.meta.dirname, "../node_modules/vitest/vitest.mjs");
const REPORTER = join(import.meta.dirname, "last-run-reporter.ts");

let root: string;
let file: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "colloquy-last-run-"));
  file = join(root, "runs/last.json");
  await writeFile(
    join(root, "vitest.config.js"),
    `import { LastRunReporter } from ${JSON.stringify(REPORTER)};
     const project = (name) => ({ test: { name, globals: true, include: [name + ".test.js"] } });
     export default { test: { projects: [project("fast"), project("slow")], reporters: [new LastRunReporter(${JSON.stringify(file)})] } };`,
  );
  await writeFile(join(root, "fast.test.js"), `it("passes", () => {}); it.skip("is skipped", () => {});`);
  await writeFile(join(root, "slow.test.js"), `it("passes", () => {});`);
});
afterEach(() => rm(root, { recursive: true }));

it("keeps the complete runs of a project and of all, and no others", { timeout: 120_000 }, async () => {
  await run("fast.test.js");
  await run("--testNamePattern", "passes");
  expect(readRuns(file)).toEqual({});
  await run("--project", "fast");
  await run();
  const seconds = expect.any(Number) as number;
  expect(readRuns(file)).toEqual({ fast: { passed: 1, seconds }, "fast and slow": { passed: 2, seconds } });
});

async function run(...words: readonly string[]): Promise<void> {
  await promisify(execFile)(process.execPath, [VITEST, "run", "--root", root, ...words]);
}

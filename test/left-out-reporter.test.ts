import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

const run = promisify(execFile);
const VITEST = join(import.meta.dirname, "../node_modules/vitest/vitest.mjs");
const REPORTER = join(import.meta.dirname, "left-out-reporter.ts");

describe("LeftOutReporter", () => {
  let root: string;
  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), "colloquy-left-out-"));
    await writeFile(
      join(root, "vitest.config.js"),
      `import LeftOutReporter from ${JSON.stringify(REPORTER)};
       export default { test: { globals: true, reporters: [new LeftOutReporter()] } };`,
    );
    await writeFile(
      join(root, "database.test.js"),
      `describe.skipIf(true)("a database", () => { it("keeps", () => {}); describe("later", () => it("finds", () => {})); });
       it("works without", () => {});`,
    );
    await writeFile(join(root, "whole.test.js"), `it("is not left out", () => {});`);
  });
  afterEach(() => rm(root, { recursive: true }));

  it("names the files and suites with skipped tests", async () => {
    expect(await saidBy([])).toMatch(/\nSkipped, because [^\n]+\n {2}2 of database\.test\.js: a database\n$/);
  });

  it("ignores tests excluded by a name filter", async () => {
    expect(await saidBy(["--testNamePattern", "works"])).not.toContain("Skipped, because");
  });

  it("ignores files whose tests were skipped by a failed hook", async () => {
    const failing = 'beforeAll(() => { throw new Error("no"); }); it("is not run", () => {});';
    await writeFile(join(root, "failing.test.js"), failing);
    const said = await saidBy([]);
    expect(said).toContain("2 of database.test.js");
    expect(said).not.toContain("of failing.test.js");
  });

  async function saidBy(parameters: readonly string[]): Promise<string> {
    const running = run(process.execPath, [VITEST, "run", "--root", root, ...parameters]);
    const { stdout } = await running.catch((failed: { readonly stdout: string }) => failed);
    return stdout;
  }
});

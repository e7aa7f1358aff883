import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, "..");

describe("scripts/test-reports.js", () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "colloquy-reports-"));
  });
  afterEach(() => rm(folder, { recursive: true }));

  it("prints the files with skipped tests", async () => {
    const bare = await report({
      "a.test.ts": { one: "passed" },
      "b.test.ts": { one: "passed", two: "skipped", three: "pending" },
      "c.test.ts": { one: "todo" },
    });
    expect(await said("left-out", bare)).toBe("b.test.ts\nc.test.ts\n");
  });

  it("fails if a test was skipped, or none passed", async () => {
    const whole = await report({ "a.test.ts": { one: "passed", two: "passed" } });
    const empty = await report({ "a.test.ts": {} });
    for (const command of ["check", "ran"]) {
      expect(await said(command, whole)).toMatch(/^== 2 passed/);
      await expect(said(command, empty)).rejects.toMatchObject({ code: 1 });
    }
    const lacking = await report({ "a.test.ts": { one: "passed", two: "skipped" } });
    await expect(said("check", lacking)).rejects.toMatchObject({
      code: 1,
      stdout: expect.stringContaining("skipped: a.test.ts: two\n") as string,
    });
    expect(await said("ran", lacking)).toMatch(/^== 1 passed/);
  });

  it("counts each test that passed once, and every failure", async () => {
    const bare = await report({
      "a.test.ts": { one: "passed", two: "skipped" },
      "b.test.ts": { one: "failed" },
    });
    const all = await report({
      "a.test.ts": { one: "passed", two: "passed" },
      "b.test.ts": { one: "failed" },
    });
    expect(await said("count", bare, all)).toBe("2 passed, 2 failed\n");
    const unloaded = await report({ "c.test.ts": {} }, "failed");
    expect(await said("count", bare, unloaded)).toBe("1 passed, 2 failed\n");
    await writeFile(join(folder, "empty"), "");
    expect(await said("count", join(folder, "empty"), join(folder, "never-written"))).toBe(
      "0 passed, 0 failed\n",
    );
  });

  let reports = 0;
  async function report(
    files: Readonly<Record<string, Readonly<Record<string, string>>>>,
    status = "passed",
  ): Promise<string> {
    const testResults = Object.entries(files).map(([file, tests]) => ({
      name: join(ROOT, file),
      status,
      assertionResults: Object.entries(tests).map(([fullName, result]) => ({ fullName, status: result })),
    }));
    reports += 1;
    const path = join(folder, `${reports}.json`);
    await writeFile(path, JSON.stringify({ testResults }));
    return path;
  }

  async function said(...words: readonly string[]): Promise<string> {
    return (await run(process.execPath, ["scripts/test-reports.js", ...words], { cwd: ROOT })).stdout;
  }
});

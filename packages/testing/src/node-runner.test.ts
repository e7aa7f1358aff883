// Runs the suites under Node's test runner, with the same tests as under Vitest.

import { execFile } from "node:child_process";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";

/** Source of a test file whose last test fails. */
const FILE = `
  import { describeKeys } from "./store/keys.suite.ts";
  import { beforeEach, describe, expect, it } from "./harness.ts";
  import { openSqliteStore } from "@colloquy/engine/internal/store/sqlite/open";
  describe("SQLite", () =>
    describeKeys(async (clock) => {
      const store = await openSqliteStore({ directory: null, clock, onFatal: () => undefined });
      return { store, reopen: null, dispose: async () => undefined };
    }));
  describe("forms", () => {
    let calls = 0;
    beforeEach(() => void (calls += 1), 1000);
    it.each([["one", 1], ["two", 2]])("fills the title: %s", (_, number) => expect(calls).toBe(number));
    it("takes options first", { timeout: 1000 }, () => expect({ a: "x" }).toEqual({ a: expect.any(String) }));
    it("fails", () => expect([1]).toMatchObject([2]));
  });
`;

it("run under node:test, which reports their failures", async () => {
  const file = join(import.meta.dirname, `node-runner-${crypto.randomUUID()}.ts`);
  await writeFile(file, FILE);
  try {
    const { VITEST: _, NODE_TEST_CONTEXT: _context, ...environment } = process.env;
    const run = promisify(execFile)(process.execPath, ["--test", "--test-reporter=tap", file], {
      env: environment,
    });
    const { stdout } = (await run.catch((error: unknown) => error)) as { readonly stdout: string };
    const failed = [...stdout.matchAll(/^\s*not ok \d+ - (.*)$/gm)].map(([, title]) => title);
    expect(failed).toEqual(["fails", "forms"]);
    expect(stdout).toContain("fills the title: two");
    expect(Number(/^# pass (\d+)$/m.exec(stdout)?.[1])).toBeGreaterThan(6);
  } finally {
    await rm(file);
  }
});

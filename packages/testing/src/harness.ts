// Test functions for the suites: Vitest's if Vitest runs the file, otherwise Node's with the same signatures.

import type * as Vitest from "vitest";
import { format } from "node:util";

type Harness = Pick<
  typeof Vitest,
  "afterAll" | "afterEach" | "beforeAll" | "beforeEach" | "describe" | "expect" | "it"
>;

const harness: Harness = process.env["VITEST"] === "true" ? await import("vitest") : await onNode();

export const { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } = harness;

/** Returns Vitest's matchers, and adapters from Node's test runner to Vitest's signatures. */
async function onNode(): Promise<Harness> {
  const [node, chai, matchers] = await Promise.all([
    import("node:test"),
    import("chai"),
    import("@vitest/expect"),
  ]);
  for (const plugin of [matchers.JestExtend, matchers.JestChaiExpect, matchers.JestAsymmetricMatchers])
    chai.use(plugin);
  type Run = (...values: never[]) => unknown;
  const it = (title: string, run: Run | { readonly timeout: number }, more?: number | Run): void => {
    const [options, work] = typeof run === "function" ? [timeoutOf(more), run] : [run, more];
    void node.it(title, options, async () => void (await (work as Run)()));
  };
  const each = (rows: readonly unknown[]) => (title: string, run: Run, timeout?: number) => {
    for (const row of rows) {
      const values = Array.isArray(row) ? row : [row];
      // `format` appends values without a placeholder, so pass only as many as the title has.
      const count = title.match(/%[sdifjoO]/g)?.length ?? 0;
      it(format(title, ...values.slice(0, count)), () => run(...(values as never[])), timeout);
    }
  };
  const hook = (add: typeof node.before) => (run: () => unknown, timeout?: number) =>
    add(async () => void (await run()), timeoutOf(timeout));
  return {
    afterAll: hook(node.after),
    afterEach: hook(node.afterEach),
    beforeAll: hook(node.before),
    beforeEach: hook(node.beforeEach),
    describe: (title: string, declare: () => void) => void node.describe(title, declare),
    expect: chai.expect,
    it: Object.assign(it, { each }),
  } as unknown as Harness;
}

function timeoutOf(ms: unknown): { readonly timeout?: number } {
  return typeof ms === "number" ? { timeout: ms } : {};
}

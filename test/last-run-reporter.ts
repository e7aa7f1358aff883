// Keeps how long the last complete run of the tests took, for `npm run stats`.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Reporter, TestModule, Vitest } from "vitest/node";

export const LAST_RUN = join(import.meta.dirname, "../node_modules/.cache/last-test-run.json");

export interface TestRun {
  readonly seconds: number;
  readonly passed: number;
}

export class LastRunReporter implements Reporter {
  #vitest: Vitest | null = null;
  #start = 0;

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
    this.#start = performance.now();
  }

  async onTestRunEnd(modules: readonly TestModule[]): Promise<void> {
    if (this.#vitest === null || this.#vitest.config.testNamePattern !== undefined) return;
    const all = await this.#vitest.globTestSpecifications();
    if (modules.length < all.length) return;
    const projects = this.#vitest.projects.map(({ name }) => name).join(" and ");
    const passed = modules.reduce((sum, module) => sum + [...module.children.allTests("passed")].length, 0);
    const run: TestRun = { seconds: (performance.now() - this.#start) / 1_000, passed };
    mkdirSync(dirname(LAST_RUN), { recursive: true });
    writeFileSync(LAST_RUN, JSON.stringify({ ...readRuns(), [projects]: run }));
  }
}

function readRuns(): object {
  try {
    return JSON.parse(readFileSync(LAST_RUN, "utf8")) as object;
  } catch {
    return {};
  }
}

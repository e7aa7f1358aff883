// Keeps how long the last complete run of the tests took, for `npm run stats`.

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
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
  readonly #file: string;

  /** `file` gets the runs as JSON, by the names of their projects. */
  constructor(file: string) {
    this.#file = file;
  }

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
    mkdirSync(dirname(this.#file), { recursive: true });
    writeFileSync(this.#file, JSON.stringify({ ...readRuns(this.#file), [projects]: run }));
  }
}

/** Returns what `LastRunReporter` has written, by the names of projects. */
export function readRuns(file: string): Readonly<Record<string, TestRun>> {
  if (!existsSync(file)) return {};
  return JSON.parse(readFileSync(file, "utf8")) as Record<string, TestRun>;
}

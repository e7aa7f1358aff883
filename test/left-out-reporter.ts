// Lists skipped tests at the end of a run, because a missing program skips tests silently. .ci/run repeats
// them where the programs exist.

import { relative } from "node:path";
import type { Reporter, TestModule, Vitest } from "vitest/node";

// oxlint-disable-next-line import/no-default-export -- `--reporter=path` takes the default export
export default class LeftOutReporter implements Reporter {
  #vitest: Vitest | null = null;

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    // With a name filter, skipping is what the person wants.
    if (this.#vitest === null || this.#vitest.config.testNamePattern !== undefined) return;
    const { logger, config } = this.#vitest;
    const lines = modules.flatMap((file) => lineOf(file, config.root));
    if (lines.length === 0) return;
    logger.log("\nSkipped, because this machine lacks what these tests need:");
    for (const line of lines) logger.log(line);
  }
}

function lineOf(file: TestModule, root: string): readonly string[] {
  // A hook that fails skips the tests of its module.
  if (file.state() === "failed") return [];
  const skipped = [...file.children.allTests("skipped")];
  if (skipped.length === 0) return [];
  const suites = new Set(
    skipped.map(({ fullName, parent }) =>
      parent.type === "suite" ? (parent.fullName.split(" > ")[0] ?? fullName) : fullName,
    ),
  );
  return [`  ${skipped.length} of ${relative(root, file.moduleId)}: ${[...suites].join(", ")}`];
}

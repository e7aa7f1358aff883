// Names at the end of a run which tests were left out, because a program is missing on this machine: nobody should take them for
// passed. .ci/run runs them afterwards, where the programs are.

import { relative } from "node:path";
import type { Reporter, TestModule, Vitest } from "vitest/node";

// oxlint-disable-next-line import/no-default-export -- `--reporter=path` takes the default export
export default class LeftOutReporter implements Reporter {
  #vitest: Vitest | null = null;

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  onTestRunEnd(modules: readonly TestModule[]): void {
    // Tests that whoever started the run did not ask for are skipped too, and are nothing to tell.
    if (this.#vitest === null || this.#vitest.config.testNamePattern !== undefined) return;
    const { logger, config } = this.#vitest;
    const lines = modules.flatMap((file) => lineOf(file, config.root));
    if (lines.length === 0) return;
    logger.log("\nLeft out, because this machine does not have what these tests need:");
    for (const line of lines) logger.log(line);
  }
}

function lineOf(file: TestModule, root: string): readonly string[] {
  const skipped = [...file.children.allTests("skipped")];
  if (skipped.length === 0) return [];
  const suites = new Set(
    skipped.map(({ fullName, parent }) =>
      parent.type === "suite" ? (parent.fullName.split(" > ")[0] ?? fullName) : fullName,
    ),
  );
  return [`  ${skipped.length} of ${relative(root, file.moduleId)}: ${[...suites].join(", ")}`];
}

// The order of test files. Vitest begins with the largest where it does not know how long each took, as in a fresh clone; a small one that
// takes long would come last, and be waited for while the machine has nothing else to do.

import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Small files that take more than ten seconds: most of what they run stands elsewhere. */
const LONG = [
  "packages/server/src/store/sqlite/store.test.ts",
  "packages/server/src/store/postgres/store.test.ts",
  "packages/server/test/interleavings.test.ts",
  "packages/server/test/nodes-interleavings.test.ts",
  "packages/console/test/kept-files.test.ts",
];

export class LongFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLong = ({ moduleId }: TestSpecification) => LONG.some((file) => moduleId.endsWith(file));
    // oxlint-disable-next-line unicorn/no-array-sort -- it is no array that is sorted here
    const sorted = await super.sort(files);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

// The order of test files. Vitest keeps the duration of each file of the last run, and starts with the longest. In a fresh clone it knows none
// and starts with the largest, so this starts first those that are small and take long: as the last ones they would run alone.

import { BaseSequencer, type TestSpecification } from "vitest/node";
import { LONG } from "./test-files.ts";

export class LongFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLong = ({ moduleId }: TestSpecification) => LONG.some((file) => moduleId.endsWith(file));
    // oxlint-disable-next-line unicorn/no-array-sort -- it is no array that is sorted here
    const sorted = await super.sort(files);
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))];
  }
}

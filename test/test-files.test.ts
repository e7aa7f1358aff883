import { globSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ISOLATED, LONG, ON_NODE_24, SLOW } from "./test-files.ts";

it("names existing test files only", () => {
  const cwd = join(import.meta.dirname, "..");
  const patterns = [...ISOLATED, ...SLOW, ...LONG, ...ON_NODE_24];
  expect(patterns.filter((pattern) => globSync(pattern, { cwd }).length === 0)).toEqual([]);
});

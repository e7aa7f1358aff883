// READMEs as registries show them, without the surrounding repository.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { readmeForRegistry, writeManifest } from "../scripts/published-package.ts";

const ROOT = join(import.meta.dirname, "..");

it.each(["packages/client", "packages/react", "packages/protocol", "packages/server"])(
  "%s has a published README without links into the repository",
  (folder) => {
    const directory = mkdtempSync(join(tmpdir(), "colloquy-published-"));
    try {
      writeManifest(join(ROOT, folder), directory);
      const text = readFileSync(join(directory, "README.md"), "utf8");
      expect(text).toMatch(/^# @colloquy\//);
      expect(
        [...text.matchAll(/\]\(([^)]*)\)/g)].filter(([, to]) => !/^(?:https:|#)/.test(to ?? "")),
      ).toEqual([]);
    } finally {
      rmSync(directory, { recursive: true, force: true });
    }
  },
);

it("turns links into the repository into their paths", () => {
  const text =
    "[The guide](../../docs/react.md#threads) and [`one`](test/one.md), [there](https://example.com), [here](#here).";
  expect(readmeForRegistry(text, "packages/react")).toBe(
    "The guide (`docs/react.md` in the repository) and `one` (`packages/react/test/one.md` in the repository), [there](https://example.com), [here](#here).",
  );
});

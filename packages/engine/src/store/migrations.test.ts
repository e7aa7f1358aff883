import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readMigrations } from "./migrations.ts";

/** Schema version of the last release. That version runs on a database that is one migration ahead, beside this one and after a rollback. */
const RELEASED_SCHEMA = 5;
const STORES = [import.meta.dirname, join(import.meta.dirname, "../../../postgres/src")];

it("no INSERT relies on the order of columns, because the next version may add one", () => {
  const positional = /\bINSERT\s+(?:OR\s+\w+\s+)?INTO\s+[\w.${}"]+\s+(?:AS\s+\w+\s+)?(?:VALUES|SELECT)\b/i;
  const files = globSync(STORES.map((folder) => join(folder, "**/*.{ts,sql}"))).filter(
    (file) => !file.endsWith(".test.ts"),
  );
  const inserting = files
    .map((file) => [file, readFileSync(file, "utf8")] as const)
    .filter(([, text]) => /\bINSERT\s+(?:OR\s+\w+\s+)?INTO\b/i.test(text));
  expect(inserting.length).toBeGreaterThan(5);
  expect(inserting.flatMap(([file, text]) => (positional.test(text) ? [file] : []))).toEqual([]);
});

it.each(["sqlite", "../../../postgres/src"])(
  "%s has at most one migration more than the last release",
  (adapter) => {
    const ours = readMigrations(join(import.meta.dirname, adapter, "migrations"));
    expect(ours.length).toBeGreaterThanOrEqual(RELEASED_SCHEMA);
    expect(
      ours.length,
      "A release has one migration. If the number of the newest file is above RELEASED_SCHEMA, append to that file.",
    ).toBeLessThanOrEqual(RELEASED_SCHEMA + 1);
  },
);

describe("readMigrations", () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "colloquy-migrations-"));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it("reads the numbered files in order", () => {
    writeFileSync(join(folder, "0002_second.sql"), "B");
    writeFileSync(join(folder, "0001_first.sql"), "A");
    writeFileSync(join(folder, "notes.txt"), "");
    expect(readMigrations(folder)).toEqual([
      { version: 1, name: "0001_first.sql", sql: "A" },
      { version: 2, name: "0002_second.sql", sql: "B" },
    ]);
  });

  it.each([["0001_twice.sql"], ["first.sql"]])("rejects a missing or duplicate number: %s", (file) => {
    writeFileSync(join(folder, "0001_first.sql"), "");
    writeFileSync(join(folder, "0003_third.sql"), "");
    writeFileSync(join(folder, file), "");
    expect(() => readMigrations(folder)).toThrow(/should begin with number/);
  });
});

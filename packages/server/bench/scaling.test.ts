import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { costsIn, tablesOf, withTables } from "./scaling.ts";

const page = (name: string) => readFile(join(import.meta.dirname, "../../../docs", name), "utf8");

it("matches docs/scaling.md to docs/performance.md (npm run bench:scaling)", async () => {
  const scaling = await page("scaling.md");
  const tables = tablesOf(costsIn(await page("performance.md")));
  for (const table of Object.values(tables)) expect(scaling).toContain(table);
  expect(withTables(scaling, tables)).toBe(scaling);
});

it("finds the figures of docs/operations.md in docs/performance.md", async () => {
  const [, sizing = ""] = /\n## Sizing\n([^]*?)\n## /.exec(await page("operations.md")) ?? [];
  const figures = [...sizing.matchAll(/[\d.,]+(?:\/s| KB)/g)].map(([figure]) => figure);
  expect(figures.length).toBeGreaterThanOrEqual(3);
  const measured = await page("performance.md");
  expect(figures.filter((figure) => !measured.includes(`| ${figure} |`))).toEqual([]);
});

it("calculates the tables from the costs", () => {
  const cost = { nodes: 1_000, database: 1_000, wal: 1.024 };
  const tables = tablesOf({ turn: cost, text: cost });
  // 50,000 turns and 500,000 seconds of text a second, a millisecond each.
  expect(tables["arithmetic"]).toContain("500 cores, 550 with the turns |");
  expect(tables["arithmetic"]).toContain("550 MB/s");
  // Eleven milliseconds a turn on 32 cores.
  expect(tables["ends"]).toContain("2,909 turns/s, with 32 MB/s");
  expect(tables["cells"]).toContain("Each of 18 cells");
  expect(tables["cells"]).toContain("31 cores, 52 processes");
});

it("names a missing cost", () => {
  expect(() => costsIn("| something |")).toThrow("docs/performance.md has no cost of a whole turn");
});

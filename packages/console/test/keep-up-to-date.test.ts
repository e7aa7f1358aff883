import { cp, mkdir, mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { fingerprint, FINGERPRINT_FILE } from "../build/fingerprint.ts";
import { keepUpToDate } from "../build/keep-up-to-date.ts";

let repository: string;
let dist: string;
let lines: string[];
let builds: number;
let shown: (string | null)[];
beforeEach(async () => {
  repository = await mkdtemp(join(tmpdir(), "colloquy-sources-"));
  dist = join(repository, "packages/console/dist");
  [lines, builds, shown] = [[], 0, []];
  await write("package-lock.json", "{}");
  await write("packages/console/src/main.tsx", "first");
  await write("packages/client/src/client.ts", "client");
});
afterEach(() => rm(repository, { recursive: true, force: true }));

async function write(name: string, content: string): Promise<void> {
  await mkdir(join(repository, name, ".."), { recursive: true });
  await writeFile(join(repository, name), content);
}

async function start(build?: () => Promise<void>): Promise<void> {
  const buildNow = async (directory: string, progress: (what: string) => void) => {
    builds += 1;
    progress("reading");
    await build?.();
    await mkdir(directory, { recursive: true });
    await writeFile(join(directory, FINGERPRINT_FILE), await fingerprint(repository));
  };
  await keepUpToDate(dist, {
    build: buildNow,
    print: (line) => lines.push(line.replace(/\d+ s\./, "N s.")),
    progress: (what) => shown.push(what),
    repository,
  });
}

it("builds a missing console once, and prints the start and the end", async () => {
  await start();
  await start();
  expect([builds, lines]).toEqual([
    1,
    ["Colloquy: building the console, which is not built yet.", "Colloquy: built the console in N s."],
  ]);
  // `null` clears the progress.
  expect(shown).toEqual(["reading", null]);
});

it.each([
  ["packages/console/src/main.tsx", "second"],
  ["packages/console/src/new.module.css", ""],
  ["packages/console/index.html", "<p>"],
  ["packages/console/vite.config.ts", "other"],
  ["packages/console/package.json", "{}"],
  ["packages/console/build/build-console.ts", "other"],
  ["packages/client/src/client.ts", "other"],
  ["packages/client/package.json", "{}"],
  ["packages/react/src/assistant-ui/index.ts", "other"],
  ["packages/react/package.json", "{}"],
  ["packages/ui/src/markdown/markdown.tsx", "other"],
  ["packages/ui/src/styles.css", "other"],
  ["packages/ui/package.json", "{}"],
  ["packages/protocol/src/index.ts", "other"],
  ["packages/protocol/package.json", "{}"],
  ["package-lock.json", "{ }"],
])("rebuilds when %s changes", async (name, content) => {
  await start();
  await write(name, content);
  await start();
  expect([builds, lines.at(-2)]).toEqual([
    2,
    "Colloquy: building the console, which is older than its sources.",
  ]);
});

it("does not rebuild for a changed test, a changed file time, or a copied repository", async () => {
  await start();
  await write("packages/console/src/main.test.tsx", "a test");
  await utimes(join(repository, "packages/console/src/main.tsx"), 0, 0);
  await start();
  const copy = `${repository}-copy`;
  await cp(repository, copy, { recursive: true });
  expect(await fingerprint(copy)).toBe(await fingerprint(repository));
  await rm(copy, { recursive: true });
  expect(builds).toBe(1);
});

it("prints a build failure with advice, and does not reject", async () => {
  await start(() => Promise.reject(new Error("Unexpected token\nat line 5")));
  expect(lines[1]).toBe(
    "Colloquy: building the console failed (Unexpected token). The service starts without the console.",
  );
  const missing = Object.assign(new Error("Cannot find package 'vite'"), { code: "ERR_MODULE_NOT_FOUND" });
  await start(() => Promise.reject(missing));
  expect(lines[3]).toContain('"npm ci" without --omit=dev');
  await start();
  await write("packages/console/src/main.tsx", "broken");
  await start(() => Promise.reject(new Error("Unexpected token")));
  expect(lines.at(-1)).toContain("The previous build is served.");
});

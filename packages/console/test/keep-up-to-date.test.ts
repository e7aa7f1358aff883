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
beforeEach(async () => {
  repository = await mkdtemp(join(tmpdir(), "colloquy-sources-"));
  dist = join(repository, "packages/console/dist");
  [lines, builds] = [[], 0];
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
  const buildNow = async (directory: string) => {
    builds += 1;
    await build?.();
    await mkdir(directory, { recursive: true });
    await writeFile(join(directory, FINGERPRINT_FILE), await fingerprint(repository));
  };
  await keepUpToDate(dist, { build: buildNow, print: (line) => lines.push(line), repository });
}

it("is built if missing, reported in one line, and then not again", async () => {
  await start();
  await start();
  expect([builds, lines]).toEqual([1, ["Colloquy: the console is not built yet, building it."]]);
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
  ["packages/protocol/src/index.ts", "other"],
  ["packages/protocol/package.json", "{}"],
  ["package-lock.json", "{ }"],
])("is built again when %s changes", async (name, content) => {
  await start();
  await write(name, content);
  await start();
  expect([builds, lines.at(-1)]).toEqual([
    2,
    "Colloquy: the console is older than its sources, building it.",
  ]);
});

it("is not built again for a test, another file time, or in a copy", async () => {
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

it("a failing build does not prevent the start, and is reported with advice", async () => {
  await start(() => Promise.reject(new Error("Unexpected token\nat line 5")));
  expect(lines[1]).toBe(
    "Colloquy: the console could not be built, so the service starts without it. (Unexpected token)",
  );
  const missing = Object.assign(new Error("Cannot find package 'vite'"), { code: "ERR_MODULE_NOT_FOUND" });
  await start(() => Promise.reject(missing));
  expect(lines[3]).toContain('"npm ci" without --omit=dev');
  await start();
  await write("packages/console/src/main.tsx", "broken");
  await start(() => Promise.reject(new Error("Unexpected token")));
  expect(lines.at(-1)).toContain("so the old one is served");
});

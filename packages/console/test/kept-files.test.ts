// Tabs that are open when a newer console is built fetch their remaining files afterwards.

import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { buildConsole } from "../build/build-console.ts";

let built: string;
beforeEach(async () => {
  built = await mkdtemp(join(tmpdir(), "colloquy-console-"));
});
afterEach(() => rm(built, { recursive: true, force: true }));

/** Builds a console whose files have other names than those of any other round. */
async function build(round: string): Promise<readonly string[]> {
  const [entryFileNames, chunkFileNames] = [`assets/[name]-${round}.js`, `assets/[name]-${round}.js`];
  await buildConsole(built, {
    build: { rollupOptions: { output: { entryFileNames, chunkFileNames } } },
  });
  return (await readdir(join(built, "assets"))).filter((file) => file.includes(`-${round}.js`));
}

it("a build leaves the files of the one before it, compressed too, and takes away what is older", async () => {
  const [first, second] = [await build("first"), await build("second")];
  expect(first.some((file) => /^developer-panel-first\.js\.br$/.test(file))).toBe(true);
  const afterSecond = await readdir(join(built, "assets"));
  expect(afterSecond).toEqual(expect.arrayContaining([...first, ...second]));
  const third = await build("third");
  const afterThird = await readdir(join(built, "assets"));
  expect(afterThird).toEqual(expect.arrayContaining([...second, ...third]));
  expect(afterThird.filter((file) => first.includes(file))).toEqual([]);
}, 120_000);

it("a build takes away what another one has left that was ended in the middle, and its half of a manifest", async () => {
  await mkdir(join(built, ".vite"));
  await writeFile(join(built, ".vite/manifest.json"), '{"index.html": {"fi');
  // No process has this number.
  await mkdir(join(built, "next-4194999/assets"), { recursive: true });
  const files = await build("next");
  expect(files).not.toEqual([]);
  expect(await readdir(built)).toEqual(expect.not.arrayContaining(["next-4194999"]));
  expect(JSON.parse(await readFile(join(built, ".vite/manifest.json"), "utf8"))).toHaveProperty([
    "index.html",
  ]);
}, 120_000);

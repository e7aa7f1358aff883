// Tabs that are open during an update fetch their remaining files afterwards.

import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { buildConsole } from "../build/build-console.ts";

/** A page that loads a part lazily, as the console does. Small, because it is bundled in every round. */
const PAGE = {
  "index.html": '<!doctype html><script type="module" src="./index.js"></script>',
  "index.js": 'document.onclick = () => import("./developer-panel.js");',
  "developer-panel.js": 'import "./developer-panel.css"; console.log("opened");',
  "developer-panel.css": "p { color: red }",
};

let folder: string;
let built: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "colloquy-console-"));
  built = join(folder, "dist");
  await mkdir(built);
  for (const [name, text] of Object.entries(PAGE)) await writeFile(join(folder, name), text);
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** Builds the page as the console is built, with different file names in each round. */
async function build(round: string): Promise<readonly string[]> {
  const name = `assets/[name]-${round}`;
  const output = {
    entryFileNames: `${name}.js`,
    chunkFileNames: `${name}.js`,
    assetFileNames: `${name}[extname]`,
  };
  await buildConsole(built, {
    root: folder,
    configFile: join(import.meta.dirname, "../vite.config.ts"),
    build: { rollupOptions: { output } },
  });
  return (await readdir(join(built, "assets"))).filter((file) => file.includes(`-${round}.`));
}

it("a build keeps the files of the previous one, compressed too, and removes older ones", async () => {
  const [first, second] = [await build("first"), await build("second")];
  const later = ["developer-panel-first.js", "developer-panel-first.css"];
  expect(first).toEqual(expect.arrayContaining(later.flatMap((file) => [file, `${file}.br`, `${file}.gz`])));
  const afterSecond = await readdir(join(built, "assets"));
  expect(afterSecond).toEqual(expect.arrayContaining([...first, ...second]));
  const third = await build("third");
  const afterThird = await readdir(join(built, "assets"));
  expect(afterThird).toEqual(expect.arrayContaining([...second, ...third]));
  expect(afterThird.filter((file) => first.includes(file))).toEqual([]);
});

it("a build removes leftovers of an interrupted one, including an incomplete manifest", async () => {
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
});

// Size limits of the components for a page that already has React.

import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, it } from "vitest";

const INDEX = join(import.meta.dirname, "../src/index.ts");

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "colloquy-sizes-"));
});
afterAll(() => rm(folder, { recursive: true }));

/** Returns the compressed size of the initial bundle in KB, without lazily loaded parts. */
async function sizeOf(names: string): Promise<number> {
  const entry = join(folder, "entry.ts");
  await writeFile(entry, `export { ${names} } from ${JSON.stringify(INDEX)};`);
  await build({
    entryPoints: [entry],
    outdir: join(folder, "out"),
    bundle: true,
    splitting: true,
    minify: true,
    format: "esm",
    jsx: "automatic",
    define: { "process.env.NODE_ENV": '"production"' },
    external: ["react", "react-dom", "react/*"],
  });
  return gzipSync(await readFile(join(folder, "out/entry.js"))).length / 1_000;
}

it.each([
  ["Markdown", 60],
  ["Message, Markdown", 60],
  ["ChatPage", 200],
])("%s weighs at most %d KB", async (names, most) => {
  expect(await sizeOf(names)).toBeLessThanOrEqual(most);
});

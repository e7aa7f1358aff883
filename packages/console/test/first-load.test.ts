// What a browser fetches before the console is usable, measured over the built files.

import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { buildConsole } from "../build/build-console.ts";

const MOST_BYTES = 310_000;

interface Chunk {
  readonly file: string;
  readonly isEntry?: boolean;
  readonly imports?: readonly string[];
  readonly css?: readonly string[];
}

let built: string;
beforeAll(async () => {
  built = await mkdtemp(join(tmpdir(), "colloquy-console-"));
  await buildConsole(built);
});
afterAll(() => rm(built, { recursive: true, force: true }));

/** The page, its entry, the entry's static imports, and their styles. */
async function firstLoad(): Promise<Set<string>> {
  const manifest = JSON.parse(await readFile(join(built, ".vite/manifest.json"), "utf8")) as Record<
    string,
    Chunk
  >;
  const files = new Set(["index.html"]);
  const add = (chunk: Chunk): void => {
    if (files.has(chunk.file)) return;
    for (const file of [chunk.file, ...(chunk.css ?? [])]) files.add(file);
    for (const name of chunk.imports ?? []) add(manifest[name]!);
  };
  for (const chunk of Object.values(manifest)) if (chunk.isEntry === true) add(chunk);
  return files;
}

describe("the built console", () => {
  it("needs less than 310 KB compressed to show", async () => {
    const files = await firstLoad();
    expect(files.size).toBeGreaterThan(2);
    let bytes = 0;
    for (const file of files) bytes += gzipSync(await readFile(join(built, file))).length;
    expect(bytes).toBeGreaterThan(50_000);
    expect(bytes).toBeLessThan(MOST_BYTES);
  });

  it("loads the operators' parts lazily", async () => {
    const files = await readdir(join(built, "assets"));
    const later = files.filter((file) => /^operator-area-.*\.js$/.test(file));
    expect(later).toHaveLength(1);
    expect(await firstLoad()).not.toContain(`assets/${later[0]}`);
  });

  it("contains nothing inline that its policy refuses, and names no other host", async () => {
    const page = await readFile(join(built, "index.html"), "utf8");
    expect(page).not.toMatch(/<style|style=|\son\w+=|https?:/);
    for (const [, content] of page.matchAll(/<script[^>]*>([\s\S]*?)<\/script>/g)) expect(content).toBe("");
  });

  it("is one folder of files with names that the server recognizes, each also compressed", async () => {
    const files = await readdir(join(built, "assets"));
    expect(files.filter((file) => !/^\w[\w-]*(?:\.[\w-]+)+$/.test(file))).toEqual([]);
    const scripts = files.filter((file) => file.endsWith(".js"));
    for (const file of scripts) expect(files).toEqual(expect.arrayContaining([`${file}.gz`, `${file}.br`]));
  });
});

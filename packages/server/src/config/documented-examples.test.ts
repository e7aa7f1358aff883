// Every configuration example in docs/configuration.md must load without problems.

import { mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { loadConfig } from "./load-config.ts";
import { formatProblems } from "./problem.ts";

const ROOT = join(import.meta.dirname, "../../../..");
const ENVIRONMENT = { MAPS_KEY: "x", RPC_KEY: "x", TEAM: "x", LOCAL_KEY: "x" };

let directory = "";

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "colloquy-documented-"));
  await symlink(join(ROOT, "node_modules"), join(directory, "node_modules"));
  await writeFile(join(directory, "package.json"), '{"type":"module"}');
  await writeFile(join(directory, "pet-shop.yaml"), "");
});

afterEach(async () => {
  await rm(directory, { recursive: true });
});

async function examples(): Promise<readonly { readonly name: string; readonly text: string }[]> {
  const page = await readFile(join(ROOT, "docs/configuration.md"), "utf8");
  return [...page.matchAll(/^```(ts|json)\n(.*?)^```/gms)].map(([, kind = "", text = ""]) => ({
    name: `colloquy.config.${kind}`,
    text,
  }));
}

it("loads every example of docs/configuration.md", async () => {
  const found = await examples();
  expect(found.map(({ name }) => name.split(".").at(-1))).toEqual(expect.arrayContaining(["ts", "json"]));
  for (const [reading, { name, text }] of found.entries()) {
    await writeFile(join(directory, name), text);
    const loaded = await loadConfig({ environment: ENVIRONMENT, workingDirectory: directory, reading });
    expect(loaded.ok ? [] : [text, formatProblems(loaded.problems)]).toEqual([]);
    expect(loaded.warnings).toEqual([]);
    await rm(join(directory, name));
  }
});

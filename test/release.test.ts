// A release: sentences in .changeset/ become one new version of all packages and their changelogs.

import { execFile } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { copyWithModules } from "./packed.ts";

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, "..");
const SENTENCE = "`listThreads` takes `limit`.";

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

let temporary: string;
let folder: string;
beforeAll(async () => {
  temporary = await mkdtemp(join(tmpdir(), "colloquy-release-"));
  folder = join(temporary, "clone");
  await copyWithModules(folder);
  await writeFile(
    join(folder, ".changeset/some-change.md"),
    `---\n"@colloquy/client": minor\n---\n\n${SENTENCE}\n`,
  );
  const git = (...args: string[]) =>
    run("git", ["-c", "user.name=a", "-c", "user.email=a@b.c", ...args], { cwd: folder });
  await git("init", "-q", "-b", "main");
  await git("add", ".");
  await git("commit", "-qm", "feat: something");
  await run(process.execPath, [join(ROOT, "node_modules/@changesets/cli/bin.js"), "version"], {
    cwd: folder,
  });
});
afterAll(() => rm(temporary, { recursive: true, force: true }));

const read = (file: string): string => readFileSync(join(folder, file), "utf8");
const manifests = (): readonly Manifest[] =>
  globSync("packages/*/package.json", { cwd: folder }).map((file) => JSON.parse(read(file)) as Manifest);

it("raises all packages to one version, also where they depend on each other", () => {
  const before = JSON.parse(readFileSync(join(ROOT, "packages/client/package.json"), "utf8")) as Manifest;
  const [major = "", minor = ""] = before.version.split(".");
  const next = `${major}.${Number(minor) + 1}.0`;
  expect(manifests().map(({ name, version }) => [name, version])).toEqual(
    manifests().map(({ name }) => [name, next]),
  );
  const dependencies = manifests().flatMap((manifest) =>
    Object.entries({ ...manifest.dependencies, ...manifest.devDependencies, ...manifest.peerDependencies }),
  );
  const own = dependencies.filter(([name]) => name.startsWith("@colloquy/"));
  expect(own.length).toBeGreaterThan(4);
  expect(new Set(own.map(([, range]) => range))).toEqual(new Set([next]));
});

it("inserts the changeset above earlier versions, and removes its file", () => {
  expect(read("packages/client/CHANGELOG.md")).toContain(SENTENCE);
  expect(read("packages/server/CHANGELOG.md").indexOf("## 0.1.0")).toBeGreaterThan(20);
  expect(globSync(".changeset/*.md", { cwd: folder })).toEqual([]);
});

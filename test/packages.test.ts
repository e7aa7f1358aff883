// The published packages: what `npm pack` writes, and that it restores the clone.

import { execFile } from "node:child_process";
import { existsSync, globSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, matchesGlob } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findInstalled } from "./installed.ts";
import { copyWithModules, PACKING_MS, packAll, PUBLISHED } from "./packed.ts";

const run = promisify(execFile);

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

/** The used part of publint. */
interface Publint {
  publint(options: { pack: { tarball: ArrayBuffer } }): Promise<{ readonly messages: readonly object[] }>;
}
/** The used part of @arethetypeswrong/core. */
interface TypeCheck {
  createPackageFromTarballData(tarball: Uint8Array): object;
  checkPackage(
    of: object,
  ): Promise<{ readonly types: object | false; readonly problems?: readonly { readonly kind: string }[] }>;
}
const PUBLINT = findInstalled("bundlers", "publint/src/index-node.js");
const TYPE_CHECK = findInstalled("bundlers", "@arethetypeswrong/core/dist/index.js");

let folder: string;
let clone: string;
let tarballs: ReadonlyMap<string, string>;
let before: Readonly<Record<string, string>>;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "colloquy-packages-"));
  clone = join(folder, "clone");
  await copyWithModules(clone);
  await mkdir(join(clone, "site/dist"), { recursive: true });
  await writeFile(join(clone, "site/dist/index.html"), "The guide");
  before = sources();
  tarballs = await packAll(clone, folder);
  for (const [name, tarball] of tarballs) {
    await mkdir(unpacked(name), { recursive: true });
    await run("tar", ["-xzf", tarball, "-C", unpacked(name), "--strip-components=1"]);
  }
}, PACKING_MS);
afterAll(() => rm(folder, { recursive: true, force: true }));

const unpacked = (name: string): string => join(folder, "unpacked", name);
const filesOf = (name: string): readonly string[] =>
  globSync("**/*", { cwd: unpacked(name), withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(unpacked(name).length + 1));
const read = (name: string, file: string): string => readFileSync(join(unpacked(name), file), "utf8");
const manifestOf = (name: string): Manifest => JSON.parse(read(name, "package.json")) as Manifest;

/** Returns the contents of the packages' own files in the clone, and whether built files are there. */
function sources(): Readonly<Record<string, string>> {
  const files = globSync("packages/*/{package.json,*.md,LICENSE,dist,.unpacked}", { cwd: clone }).toSorted();
  return Object.fromEntries(files.map((file) => [file, readText(join(clone, file))]));
}

function readText(path: string): string {
  return /\.(?:json|md)$/.test(path) ? readFileSync(path, "utf8") : "";
}

describe.each(PUBLISHED)("packages/%s", (name) => {
  it("has a licence, a README and the fields that registries show", () => {
    expect(filesOf(name)).toEqual(expect.arrayContaining(["LICENSE", "README.md", "package.json"]));
    expect(manifestOf(name)).toMatchObject({
      name: `@colloquy/${name}`,
      license: "Apache-2.0",
      type: "module",
      engines: { node: expect.stringMatching(/^>=2\d$/) },
      homepage: expect.stringMatching(/^https:/),
      repository: { type: "git", url: expect.stringMatching(/^git\+https:/), directory: `packages/${name}` },
      publishConfig: { access: "public", provenance: true },
    });
    expect(Object.keys(manifestOf(name))).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/^(?:private|devDependencies)$/)]),
    );
  });

  it("has neither sources nor tests, apart from those that it writes into projects", () => {
    const files = filesOf(name).filter((file) => !file.startsWith("dist/templates/"));
    const unwanted = files.filter((file) =>
      /(?<!\.d)\.tsx?$|tsconfig|\.test\.|\.suite\.|testing\//.test(file),
    );
    // The suites are what @colloquy/testing publishes.
    expect(unwanted.filter((file) => name !== "testing" || !file.includes(".suite."))).toEqual([]);
  });

  it("exports existing files, as code and as types", () => {
    const { exports } = manifestOf(name);
    for (const target of Object.values(exports)) {
      const files = typeof target === "string" ? [target] : [target["types"], target["default"]];
      for (const file of files) {
        const pattern = file?.replace("./", "").replace("*", "**/*") ?? "";
        expect(filesOf(name).some((existing) => matchesGlob(existing, pattern))).toBe(true);
      }
    }
    expect(read(name, "package.json")).not.toContain("./src/");
  });

  it.skipIf(PUBLINT === null || TYPE_CHECK === null)(
    "has no findings of publint and arethetypeswrong",
    async () => {
      const { publint } = (await import(PUBLINT!)) as Publint;
      const { checkPackage, createPackageFromTarballData } = (await import(TYPE_CHECK!)) as TypeCheck;
      const bytes = new Uint8Array(readFileSync(tarballs.get(name) ?? ""));
      expect((await publint({ pack: { tarball: bytes.buffer } })).messages).toEqual([]);
      const { problems = [] } = await checkPackage(createPackageFromTarballData(bytes));
      // The packages are ES modules only.
      expect(problems.filter(({ kind }) => kind !== "CJSResolvesToESM")).toEqual([]);
    },
  );

  it("imports only its own files and declared packages", () => {
    const { dependencies, peerDependencies } = manifestOf(name);
    const declared = Object.keys({ ...dependencies, ...peerDependencies, [`@colloquy/${name}`]: "" });
    const code = filesOf(name).filter(
      (file) => /(?:\.js|\.d\.ts)$/.test(file) && !/console\/|guide\//.test(file),
    );
    const missing = code.flatMap((file) =>
      [...read(name, file).matchAll(IMPORTS)]
        .map(([, named = "", loaded = named]) => loaded)
        .filter((specifier) =>
          specifier.startsWith(".")
            ? !existsSync(join(unpacked(name), dirname(file), declarationOf(file, specifier)))
            : !specifier.startsWith("node:") &&
              !declared.some((known) => specifier === known || specifier.startsWith(`${known}/`)),
        )
        .map((specifier) => `${file}: ${specifier}`),
    );
    expect(missing).toEqual([]);
  });
});

const IMPORTS = /^(?:(?:import|export|\}).* from|import) "([^"]+)"|import\("([^"]+)"\)/gm;

/** Returns the declaration file: in declarations, `./a.js` means `./a.d.ts`. */
function declarationOf(file: string, specifier: string): string {
  return file.endsWith(".d.ts") ? specifier.replace(/\.js$/, ".d.ts") : specifier;
}

it("all packages have one version, and depend on each other in that version", () => {
  const manifests = PUBLISHED.map(manifestOf);
  const { version } = manifests[0]!;
  for (const { version: own, dependencies = {} } of manifests) {
    expect(own).toBe(version);
    const others = Object.entries(dependencies).filter(([name]) => name.startsWith("@colloquy/"));
    expect(others.map(([, wanted]) => wanted)).toEqual(others.map(() => version));
  }
});

it.each(["engine", "postgres"])("%s has its migrations", (name) => {
  const migrations = globSync("**/*.sql", { cwd: join(clone, "packages", name, "src") });
  expect(migrations.length).toBeGreaterThan(4);
  expect(filesOf(name)).toEqual(expect.arrayContaining(migrations.map((file) => `dist/${file}`)));
});

it("the engine needs neither pg nor NATS", () => {
  expect(Object.keys(manifestOf("engine").dependencies ?? {}).join()).not.toMatch(/\bpg\b|nats/);
});

it("the engine has its store and its threads", () => {
  expect(filesOf("engine")).toEqual(
    expect.arrayContaining([
      "dist/index.js",
      "dist/backend.js",
      "dist/store/sqlite/worker.js",
      "dist/schemas/schema-worker.js",
    ]),
  );
});

it("the server has its command, schema, the console and the guide", () => {
  const files = filesOf("server");
  expect(files).toEqual(
    expect.arrayContaining([
      "bin/colloquy.js",
      "colloquy.schema.json",
      "dist/main.js",
      "dist/console/index.html",
      "dist/guide/index.html",
    ]),
  );
  const [, script = ""] = /src="\.\/(assets\/[^"]+)"/.exec(read("server", "dist/console/index.html")) ?? [];
  expect(files).toEqual(expect.arrayContaining([`dist/console/${script}`, `dist/console/${script}.br`]));
});

it("the client has no dependency", () => {
  expect(manifestOf("client")).not.toHaveProperty("dependencies");
  expect(manifestOf("client")).not.toHaveProperty("peerDependencies");
});

it("leaves the clone unchanged after packing, even after an interrupted run", async () => {
  expect(sources()).toEqual(before);
  const script = [join(clone, "scripts/pack.ts"), "build"];
  await run(process.execPath, script, { cwd: join(clone, "packages/protocol") });
  expect(sources()).not.toEqual(before);
  await packAll(clone, folder, ["protocol"]);
  expect(sources()).toEqual(before);
});

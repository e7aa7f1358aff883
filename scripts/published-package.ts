// Builds published packages: JavaScript, standalone declarations, and a manifest that names them. A package with more than
// its modules has a build/build-package.ts of its own.

import { spawnSync } from "node:child_process";
import { copyFileSync, cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, matchesGlob, posix, relative } from "node:path";

const ROOT = join(import.meta.dirname, "..");

interface SourceManifest {
  /** Entries with their sources, or with files that are published as they are or bundled by the package. */
  readonly exports: Readonly<Record<string, string>>;
  readonly files: readonly string[];
  readonly [field: string]: unknown;
}

interface Entry {
  readonly types: string;
  readonly default: string;
}

const SOURCE = /\.tsx?$/;
/** Modules that only tests import. */
const OF_TESTS = /\.test\.tsx?$|\/testing\//;

/** Returns the source files of the package's entries. An entry with a `*` stands for all modules that it matches. */
export function entriesOf(folder: string): string[] {
  const files = Object.values(readManifest(folder).exports).filter((file) => SOURCE.test(file));
  return files.flatMap((file) => {
    if (!file.includes("*")) return [join(folder, file)];
    return modulesOf(folder).filter((module) => matchesGlob(module, join(folder, file.replace("*", "**/*"))));
  });
}

/** Returns the source files of the package without those that only tests import. */
function modulesOf(folder: string): string[] {
  const sources = globSync("src/**/*.{ts,tsx}", { cwd: folder }).filter((file) => !OF_TESTS.test(file));
  return sources.map((file) => join(folder, file));
}

/**
 * Writes the package in `folder` into `directory`: every module as JavaScript, declarations, and files that modules read.
 * Throws with the compiler's output if the sources do not compile.
 */
export function buildModules(folder: string, directory: string): void {
  const dist = begin(directory);
  const sources = join(folder, "src");
  writeModules(folder, dist);
  writeDeclarations(folder, dist, { paths: {}, platform: "node" });
  for (const file of globSync("**/*.sql", { cwd: sources })) cpSync(join(sources, file), join(dist, file));
  writeManifest(folder, directory);
}

/** Empties the folder `dist` of `directory` and returns its path. */
export function begin(directory: string): string {
  const dist = join(directory, "dist");
  rmSync(dist, { recursive: true, force: true });
  mkdirSync(dist, { recursive: true });
  return dist;
}

/**
 * Writes the manifest of the package in `folder`, its README and the licence into `directory`, which may be `folder`.
 * The published manifest names built files and has no development dependencies. It keeps the scripts, so that packing
 * again after an interruption restores the sources.
 */
export function writeManifest(folder: string, directory: string): void {
  const { devDependencies: _, ...source } = readManifest(folder);
  const { homepage, repository } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as {
    readonly homepage: string;
    readonly repository: object;
  };
  const entries = Object.entries(source.exports).map(([entry, file]) => [entry, builtEntry(file)]);
  const exports = Object.fromEntries(entries) as Record<string, Entry | string>;
  const main = exports["."];
  const manifest = {
    ...source,
    homepage,
    repository: { ...repository, directory: relative(ROOT, folder) },
    exports,
    types: typeof main === "object" ? main.types : undefined,
    typesVersions: typesOfSubpaths(exports),
    publishConfig: { access: "public", provenance: true },
  };
  const readme = readFileSync(join(folder, "README.md"), "utf8");
  writeFileSync(join(directory, "README.md"), readmeForRegistry(readme, relative(ROOT, folder)));
  copyFileSync(join(ROOT, "LICENSE"), join(directory, "LICENSE"));
  writeFileSync(join(directory, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
}

/** Returns the types of entries below the main one for `moduleResolution: node10`, which ignores `exports`. */
function typesOfSubpaths(exports: Readonly<Record<string, Entry | string>>): object | undefined {
  const subpaths = Object.entries(exports).flatMap(([entry, built]) =>
    entry === "." || typeof built === "string" ? [] : [[entry.replace("./", ""), [built.types]]],
  );
  return subpaths.length === 0 ? undefined : { "*": Object.fromEntries(subpaths) as object };
}

function builtEntry(file: string): Entry | string {
  const path = file.replace("./src/", "./dist/");
  if (path.endsWith(".css")) return { types: `${path}.d.ts`, default: path };
  if (!SOURCE.test(file)) return path;
  const built = path.replace(SOURCE, "");
  return { types: `${built}.d.ts`, default: `${built}.js` };
}

/**
 * Returns a README in which links into the repository become plain text with the path. `folder` is the
 * package's path.
 */
export function readmeForRegistry(text: string, folder: string): string {
  return text.replaceAll(
    /\[([^\]]+)\]\((?![a-z]+:|#)([^)#]+)(?:#[^)]*)?\)/g,
    (_link, words: string, to: string) => `${words} (\`${posix.join(folder, to)}\` in the repository)`,
  );
}

/** Compiles each module of the package in `folder` to JavaScript in `dist`. The types are checked elsewhere. */
export function writeModules(folder: string, dist: string): void {
  compile(folder, dist, modulesOf(folder), {
    rewriteRelativeImportExtensions: true,
    noCheck: true,
    noResolve: true,
  });
}

export interface DeclarationOptions {
  /** Declarations outside node_modules, by package. */
  readonly paths: Readonly<Record<string, readonly string[]>>;
  /** Platform of the package; browsers and other runtimes by default. */
  readonly platform?: "node";
}

/** Writes declarations of the package in `folder` into `dist`. Throws with the compiler's output if the sources do not compile. */
export function writeDeclarations(
  folder: string,
  dist: string,
  { paths, platform }: DeclarationOptions,
): void {
  const environment =
    platform === "node" ? {} : { lib: ["es2022", "dom", "dom.iterable"], types: [], jsx: "react-jsx" };
  const kind = { declaration: true, emitDeclarationOnly: true };
  compile(folder, dist, entriesOf(folder), { ...environment, ...kind, paths });
  for (const file of globSync("**/*.d.ts", { cwd: dist })) {
    const path = join(dist, file);
    const text = readFileSync(path, "utf8");
    writeFileSync(path, text.replaceAll(/(["'])(\.{1,2}\/[\w./-]+)\.tsx?\1/g, '"$2.js"'));
  }
}

function compile(folder: string, dist: string, files: readonly string[], options: object): void {
  const compilerOptions = {
    allowJs: false,
    checkJs: false,
    noEmit: false,
    rootDir: join(folder, "src"),
    outDir: dist,
    typeRoots: [join(ROOT, "node_modules/@types")],
    ...options,
  };
  const settings = join(dist, "tsconfig.json");
  const sources = { include: [], exclude: [], files };
  writeFileSync(
    settings,
    JSON.stringify({ extends: join(ROOT, "tsconfig.json"), compilerOptions, ...sources }),
  );
  const compiler = join(ROOT, "node_modules/typescript-compiler/bin/tsc");
  const { status, stdout } = spawnSync(process.execPath, [compiler, "-p", settings], { encoding: "utf8" });
  if (status !== 0) throw new Error(`Cannot compile ${relative(ROOT, folder)}:\n${stdout}`);
  rmSync(settings);
}

function readManifest(folder: string): SourceManifest {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as SourceManifest;
}

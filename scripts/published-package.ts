// What the packages that are published have in common: a manifest that names what is built, and declarations that stand beside it.

import { spawnSync } from "node:child_process";
import { copyFileSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, posix, relative } from "node:path";

const ROOT = join(import.meta.dirname, "..");

interface SourceManifest {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly license: string;
  /** Each entry with its source, below `src/`. */
  readonly exports: Readonly<Record<string, string>>;
  readonly dependencies?: object;
  readonly peerDependencies?: object;
  readonly peerDependenciesMeta?: object;
}

/** The sources of the entries that the package in this folder has. */
export function entriesOf(folder: string): string[] {
  return Object.values(readManifest(folder).exports).map((source) => join(folder, source));
}

/** Empties `directory`. */
export function begin(directory: string): void {
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
}

/** Writes the manifest for what was built of the package in `folder`, its README and the licence. */
export function writeManifest(folder: string, directory: string): void {
  const source = readManifest(folder);
  const { name, version, description, license, dependencies, peerDependencies, peerDependenciesMeta } =
    source;
  const exports = Object.entries(source.exports).map(([entry, file]) => {
    const built = file.replace("./src/", "./").replace(/\.tsx?$/, "");
    return [entry, { types: `${built}.d.ts`, default: `${built}.js` }];
  });
  const manifest = {
    name,
    version,
    description,
    license,
    type: "module",
    sideEffects: false,
    exports: Object.fromEntries(exports) as object,
    types: "./index.d.ts",
    files: ["**/*.js", "**/*.d.ts"],
    dependencies,
    peerDependencies,
    peerDependenciesMeta,
  };
  writeFileSync(join(directory, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  const readme = readFileSync(join(folder, "README.md"), "utf8");
  writeFileSync(join(directory, "README.md"), readmeForRegistry(readme, relative(ROOT, folder)));
  copyFileSync(join(ROOT, "LICENSE"), join(directory, "LICENSE"));
}

/** A README without links that lead nowhere outside of the repository: they say where in it they led. `folder` is the package's in it. */
export function readmeForRegistry(text: string, folder: string): string {
  return text.replaceAll(
    /\[([^\]]+)\]\((?![a-z]+:|#)([^)#]+)(?:#[^)]*)?\)/g,
    (_link, words: string, to: string) => `${words} (\`${posix.join(folder, to)}\` in the repository)`,
  );
}

/**
 * Writes declarations of the package in `folder`, compiled against what browsers have. `paths` are packages that are found elsewhere than in
 * node_modules, with their declarations. Throws with what the compiler says when the sources are wrong.
 */
export function writeDeclarations(
  folder: string,
  directory: string,
  paths: Readonly<Record<string, readonly string[]>>,
): void {
  const compilerOptions = {
    lib: ["es2024", "dom"],
    types: [],
    jsx: "react-jsx",
    allowJs: false,
    checkJs: false,
    noEmit: false,
    declaration: true,
    emitDeclarationOnly: true,
    rootDir: join(folder, "src"),
    outDir: directory,
    paths,
  };
  const settings = join(directory, "tsconfig.json");
  const files = entriesOf(folder);
  writeFileSync(
    settings,
    JSON.stringify({
      extends: join(ROOT, "tsconfig.json"),
      compilerOptions,
      include: [],
      exclude: [],
      files,
    }),
  );
  const compiler = join(ROOT, "node_modules/typescript-compiler/bin/tsc");
  const { status, stdout } = spawnSync(process.execPath, [compiler, "-p", settings], { encoding: "utf8" });
  if (status !== 0) throw new Error(`The declarations cannot be written:\n${stdout}`);
  rmSync(settings);
  for (const file of globSync("**/*.d.ts", { cwd: directory })) {
    const path = join(directory, file);
    const text = readFileSync(path, "utf8");
    writeFileSync(path, text.replaceAll(/(["'])(\.{1,2}\/[\w/-]+)\.tsx?\1/g, '"$2.js"'));
  }
}

function readManifest(folder: string): SourceManifest {
  return JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as SourceManifest;
}

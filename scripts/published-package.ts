// Shared by the builds of published packages: a manifest that names the built files, and standalone
// declarations.

import { spawnSync } from "node:child_process";
import { copyFileSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, posix, relative } from "node:path";

const ROOT = join(import.meta.dirname, "..");

interface SourceManifest {
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly license: string;
  /** Entries with their sources, relative to `src/`. */
  readonly exports: Readonly<Record<string, string>>;
  readonly dependencies?: object;
  readonly peerDependencies?: object;
  readonly peerDependenciesMeta?: object;
}

/** Returns the source files of the package's entries. */
export function entriesOf(folder: string): string[] {
  return Object.values(readManifest(folder).exports).map((source) => join(folder, source));
}

/** Empties `directory`. */
export function begin(directory: string): void {
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
}

/** Writes the manifest of the package in `folder`, its README and the licence into `directory`. */
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

/**
 * Writes declarations of the package in `folder`, compiled with browser types. `paths` maps packages to
 * declarations outside node_modules. Throws with the compiler's output if the sources do not compile.
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
  if (status !== 0) throw new Error(`Cannot write the declarations:\n${stdout}`);
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

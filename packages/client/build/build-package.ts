// Makes the package that is published: a module for each entry and one that they share, declarations that stand alone, and nothing to install
// beside it.

import { spawnSync } from "node:child_process";
import { copyFileSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { wireDeclarations } from "./wire-declarations.ts";

const PACKAGE = join(import.meta.dirname, "..");
const ROOT = join(PACKAGE, "../..");
const ENTRIES = ["index.ts", "admin.ts"];

/** Writes the package into `directory`, which is emptied first. Throws with what the compiler says when the sources are wrong. */
export async function buildPackage(directory: string): Promise<void> {
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true });
  await bundleEntries(directory);
  declare(directory);
  const { name, version, description, license } = JSON.parse(read(join(PACKAGE, "package.json"))) as Record<
    string,
    string
  >;
  const manifest = {
    name,
    version,
    description,
    license,
    type: "module",
    sideEffects: false,
    exports: {
      ".": { types: "./index.d.ts", default: "./index.js" },
      "./admin": { types: "./admin.d.ts", default: "./admin.js" },
    },
    types: "./index.d.ts",
    files: ["*.js", "*.d.ts"],
  };
  writeFileSync(join(directory, "package.json"), `${JSON.stringify(manifest, null, 2)}\n`);
  copyFileSync(join(PACKAGE, "README.md"), join(directory, "README.md"));
  copyFileSync(join(ROOT, "LICENSE"), join(directory, "LICENSE"));
}

const FOR_EVERY_RUNTIME = { bundle: true, format: "esm", platform: "neutral", target: "es2022" } as const;

/** Bundles the client, without administration, into one file for browsers and every runtime. */
export async function bundle(outfile: string, { minify }: { readonly minify: boolean }): Promise<void> {
  const entryPoints = [join(PACKAGE, "src/index.ts")];
  await build({ ...FOR_EVERY_RUNTIME, entryPoints, outfile, minify });
}

/** What both entries have in common is one file, so that an error of either is an instance of the same class. */
async function bundleEntries(outdir: string): Promise<void> {
  const entryPoints = ENTRIES.map((entry) => join(PACKAGE, "src", entry));
  await build({ ...FOR_EVERY_RUNTIME, entryPoints, outdir, splitting: true, chunkNames: "shared" });
}

/** Declarations, compiled against what browsers have and the written types of the wire alone. */
function declare(directory: string): void {
  writeFileSync(join(directory, "protocol.d.ts"), wireDeclarations(wireNames()));
  const settings = join(directory, "tsconfig.json");
  writeFileSync(settings, JSON.stringify(compilerSettings(directory)));
  const { status, stdout } = spawnSync(
    process.execPath,
    [join(ROOT, "node_modules/typescript/bin/tsc"), "-p", settings],
    {
      encoding: "utf8",
    },
  );
  if (status !== 0) throw new Error(`The declarations cannot be written:\n${stdout}`);
  rmSync(settings);
  for (const file of globSync("*.d.ts", { cwd: directory })) {
    const path = join(directory, file);
    const text = read(path).replaceAll(/(["'])(\.\/[\w-]+)\.ts\1/g, '"$2.js"');
    writeFileSync(path, text.replaceAll('"@colloquy/protocol"', '"./protocol.js"'));
  }
}

/** The types of the wire that the package has to do with. */
export function wireNames(): readonly string[] {
  return ["src/wire.ts", "src/admin-wire.ts"].flatMap((file) => {
    const list = /export type \{([^}]*)\}/.exec(read(join(PACKAGE, file)))?.[1];
    return list?.match(/\w+/g) ?? [];
  });
}

function compilerSettings(directory: string): object {
  return {
    extends: join(ROOT, "tsconfig.json"),
    compilerOptions: {
      lib: ["es2024", "dom"],
      types: [],
      allowJs: false,
      checkJs: false,
      noEmit: false,
      declaration: true,
      emitDeclarationOnly: true,
      rootDir: join(PACKAGE, "src"),
      outDir: directory,
      paths: { "@colloquy/protocol": [join(directory, "protocol.d.ts")] },
    },
    include: [],
    files: ENTRIES.map((entry) => join(PACKAGE, "src", entry)),
  };
}

function read(path: string): string {
  return readFileSync(path, "utf8");
}

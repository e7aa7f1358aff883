// Builds the published package: one module per entry plus a shared one, self-contained declarations, no
// dependencies.

import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { begin, entriesOf, writeDeclarations, writeManifest } from "../../../scripts/published-package.ts";
import { wireDeclarations } from "./wire-declarations.ts";

const PACKAGE = join(import.meta.dirname, "..");

/**
 * Writes the package into `directory`. Throws with the compiler's output if the sources do
 * not compile.
 */
export async function buildPackage(directory: string): Promise<void> {
  const dist = begin(directory);
  await bundleEntries(dist);
  declare(dist);
  writeManifest(PACKAGE, directory);
}

const FOR_EVERY_RUNTIME = { bundle: true, format: "esm", platform: "neutral", target: "es2022" } as const;

/** Bundles the client without the admin entry into one file for browsers and all runtimes. */
export async function bundle(outfile: string, { minify }: { readonly minify: boolean }): Promise<void> {
  const entryPoints = [join(PACKAGE, "src/index.ts")];
  await build({ ...FOR_EVERY_RUNTIME, entryPoints, outfile, minify });
}

/** Code shared by both entries is one file, so that errors of both are instances of the same class. */
async function bundleEntries(outdir: string): Promise<void> {
  const entryPoints = entriesOf(PACKAGE);
  await build({
    ...FOR_EVERY_RUNTIME,
    entryPoints,
    outdir,
    splitting: true,
    chunkNames: "shared",
    sourcemap: true,
  });
}

/** Writes declarations that depend only on the generated wire types. */
function declare(dist: string): void {
  const wire = join(dist, "protocol.d.ts");
  writeFileSync(wire, wireDeclarations(wireNames()));
  writeDeclarations(PACKAGE, dist, { paths: { "@colloquy/protocol": [wire] } });
  for (const file of globSync("*.d.ts", { cwd: dist })) {
    const path = join(dist, file);
    writeFileSync(path, read(path).replaceAll('"@colloquy/protocol"', '"./protocol.js"'));
  }
}

/** Names of the wire types that the package uses. */
export function wireNames(): readonly string[] {
  return ["src/wire.ts", "src/admin-wire.ts"].flatMap((file) => {
    const list = /export type \{([^}]*)\}/.exec(read(join(PACKAGE, file)))?.[1];
    return list?.match(/\w+/g) ?? [];
  });
}

function read(path: string): string {
  return readFileSync(path, "utf8");
}

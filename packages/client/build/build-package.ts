// Makes the package that is published: a module for each entry and one that they share, declarations that stand alone, and nothing to install
// beside it.

import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import { begin, entriesOf, writeDeclarations, writeManifest } from "../../../scripts/published-package.ts";
import { wireDeclarations } from "./wire-declarations.ts";

const PACKAGE = join(import.meta.dirname, "..");

/** Writes the package into `directory`, which is emptied first. Throws with what the compiler says when the sources are wrong. */
export async function buildPackage(directory: string): Promise<void> {
  begin(directory);
  await bundleEntries(directory);
  declare(directory);
  writeManifest(PACKAGE, directory);
}

const FOR_EVERY_RUNTIME = { bundle: true, format: "esm", platform: "neutral", target: "es2022" } as const;

/** Bundles the client, without administration, into one file for browsers and every runtime. */
export async function bundle(outfile: string, { minify }: { readonly minify: boolean }): Promise<void> {
  const entryPoints = [join(PACKAGE, "src/index.ts")];
  await build({ ...FOR_EVERY_RUNTIME, entryPoints, outfile, minify });
}

/** What both entries have in common is one file, so that an error of either is an instance of the same class. */
async function bundleEntries(outdir: string): Promise<void> {
  const entryPoints = entriesOf(PACKAGE);
  await build({ ...FOR_EVERY_RUNTIME, entryPoints, outdir, splitting: true, chunkNames: "shared" });
}

/** Declarations that need the written types of the wire alone. */
function declare(directory: string): void {
  const wire = join(directory, "protocol.d.ts");
  writeFileSync(wire, wireDeclarations(wireNames()));
  writeDeclarations(PACKAGE, directory, { "@colloquy/protocol": [wire] });
  for (const file of globSync("*.d.ts", { cwd: directory })) {
    const path = join(directory, file);
    writeFileSync(path, read(path).replaceAll('"@colloquy/protocol"', '"./protocol.js"'));
  }
}

/** The types of the wire that the package has to do with. */
export function wireNames(): readonly string[] {
  return ["src/wire.ts", "src/admin-wire.ts"].flatMap((file) => {
    const list = /export type \{([^}]*)\}/.exec(read(join(PACKAGE, file)))?.[1];
    return list?.match(/\w+/g) ?? [];
  });
}

function read(path: string): string {
  return readFileSync(path, "utf8");
}

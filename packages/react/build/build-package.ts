// Makes the package that is published: a module for each entry and one that they share. The client, React and assistant-ui stay what the
// project has.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { begin, entriesOf, writeDeclarations, writeManifest } from "../../../scripts/published-package.ts";
import { buildPackage as buildClient } from "../../client/build/build-package.ts";

const PACKAGE = join(import.meta.dirname, "..");

/** Writes the package into `directory`, which is emptied first. Throws with what the compiler says when the sources are wrong. */
export async function buildPackage(directory: string): Promise<void> {
  begin(directory);
  await build({
    entryPoints: entriesOf(PACKAGE),
    outbase: join(PACKAGE, "src"),
    outdir: directory,
    bundle: true,
    splitting: true,
    chunkNames: "shared",
    packages: "external",
    format: "esm",
    platform: "neutral",
    target: "es2022",
    jsx: "automatic",
  });
  const client = mkdtempSync(join(tmpdir(), "colloquy-client-"));
  try {
    await buildClient(client);
    writeDeclarations(PACKAGE, directory, { "@colloquy/client": [join(client, "index.d.ts")] });
  } finally {
    rmSync(client, { recursive: true, force: true });
  }
  writeManifest(PACKAGE, directory);
}

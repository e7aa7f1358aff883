// Builds the published package: one module per entry plus a shared one. The client, React and assistant-ui
// stay external.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { begin, entriesOf, writeDeclarations, writeManifest } from "../../../scripts/published-package.ts";
import { buildPackage as buildClient } from "../../client/build/build-package.ts";

const PACKAGE = join(import.meta.dirname, "..");

/**
 * Writes the package into `directory`. Throws with the compiler's output if the sources do
 * not compile.
 */
export async function buildPackage(directory: string): Promise<void> {
  const dist = begin(directory);
  await build({
    entryPoints: entriesOf(PACKAGE),
    outbase: join(PACKAGE, "src"),
    outdir: dist,
    bundle: true,
    splitting: true,
    chunkNames: "shared",
    sourcemap: true,
    packages: "external",
    format: "esm",
    platform: "neutral",
    target: "es2022",
    jsx: "automatic",
  });
  const client = mkdtempSync(join(tmpdir(), "colloquy-client-"));
  try {
    await buildClient(client);
    writeDeclarations(PACKAGE, dist, { paths: { "@colloquy/client": [join(client, "dist/index.d.ts")] } });
  } finally {
    rmSync(client, { recursive: true, force: true });
  }
  writeManifest(PACKAGE, directory);
}

// Builds the published package: every module as JavaScript, with declarations.

import { join } from "node:path";
import { begin, writeDeclarations, writeManifest, writeModules } from "../../../scripts/published-package.ts";

const PACKAGE = join(import.meta.dirname, "..");

/** Writes the package into `directory`. Throws with the compiler's output if the sources do not compile. */
export function buildPackage(directory: string): void {
  const dist = begin(directory);
  writeModules(PACKAGE, dist);
  writeDeclarations(PACKAGE, dist, { paths: {} });
  writeManifest(PACKAGE, directory);
}

// Packages that `npm run install:tests` installs in folders beside this file: they are large, or another version of one that the root has.
// Tests that need one are skipped where it is not installed.

import { existsSync } from "node:fs";
import { join } from "node:path";

/** Returns the path of a file of a package in `test/<folder>`, `null` if the folder is not installed. */
export function findInstalled(
  folder: "programs" | "registry" | "node24" | "bundlers" | "openai-clients",
  file: string,
): string | null {
  const path = join(import.meta.dirname, folder, "node_modules", file);
  return existsSync(path) ? path : null;
}

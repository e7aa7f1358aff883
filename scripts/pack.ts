// Runs before and after `npm pack` and `npm publish` in the folder of a package: in between, its manifest and
// README are the published ones, and `dist` contains the built package. docs/adr/0031-publish-javascript.md
// explains why.

import { cpSync, existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";

const FOLDER = process.cwd();
/**
 * Folder for the files that packing replaces. It exists only while a package is being packed, or after that
 * was interrupted.
 */
const KEPT = join(FOLDER, ".unpacked");
const REPLACED = ["package.json", "README.md"];

restore();
if (process.argv[2] === "build") {
  const { buildPackage } = (await import(join(FOLDER, "build/build-package.ts"))) as {
    readonly buildPackage: (directory: string) => Promise<void> | void;
  };
  mkdirSync(KEPT);
  for (const file of REPLACED) cpSync(join(FOLDER, file), join(KEPT, file));
  await buildPackage(FOLDER);
}

function restore(): void {
  if (!existsSync(KEPT)) return;
  cpSync(KEPT, FOLDER, { recursive: true });
  rmSync(KEPT, { recursive: true });
  for (const built of ["dist", "LICENSE"]) rmSync(join(FOLDER, built), { recursive: true, force: true });
}

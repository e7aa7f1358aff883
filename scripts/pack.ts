// Runs before and after `npm pack` and `npm publish` in the folder of a package: in between, its manifest and
// README are the published ones, and `dist` contains the built package. docs/adr/0031-publish-javascript.md
// explains why.

import { cpSync, existsSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { buildModules } from "./published-package.ts";

const FOLDER = process.cwd();
/**
 * Folder for the files that packing replaces. It exists only while a package is being packed, or after that
 * was interrupted.
 */
const KEPT = join(FOLDER, ".unpacked");
const REPLACED = ["package.json", "README.md"];

restore();
if (process.argv[2] === "build") {
  mkdirSync(KEPT);
  for (const file of REPLACED) cpSync(join(FOLDER, file), join(KEPT, file));
  await build();
}

/** Builds a package with its own script, if it has one. */
async function build(): Promise<void> {
  const script = join(FOLDER, "build/build-package.ts");
  if (!existsSync(script)) return buildModules(FOLDER, FOLDER);
  const { buildPackage } = (await import(script)) as {
    readonly buildPackage: (directory: string) => Promise<void> | void;
  };
  await buildPackage(FOLDER);
}

function restore(): void {
  if (!existsSync(KEPT)) return;
  cpSync(KEPT, FOLDER, { recursive: true });
  rmSync(KEPT, { recursive: true });
  for (const built of ["dist", "LICENSE"]) rmSync(join(FOLDER, built), { recursive: true, force: true });
}

// The program of the previous release, from the history of this repository.

import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, "../../../..");

/** The commit of the previous release: the last one with schema version 5. Change it with each release. */
const COMMIT = "b4e9a4c0";
const PACKAGES = ["protocol", "client", "server"];

export interface PreviousRelease {
  readonly main: string;
  remove(): Promise<void>;
}

/**
 * Unpacks the program into a temporary folder. Its own packages are its version's; the dependencies are those
 * installed here, because the lock file has the same.
 */
export async function unpackPreviousRelease(): Promise<PreviousRelease> {
  const folder = await mkdtemp(join(tmpdir(), "colloquy-previous-"));
  const archive = join(folder, "program.tar");
  const paths = ["package.json", ...PACKAGES.map((name) => `packages/${name}`)];
  try {
    await run("git", ["-C", ROOT, "archive", `--output=${archive}`, COMMIT, ...paths]);
  } catch (error) {
    const advice = "In a shallow clone, run: git fetch --unshallow";
    throw new Error(`The history does not contain the commit ${COMMIT} of the previous release. ${advice}`, {
      cause: error,
    });
  }
  await run("tar", ["-xf", archive, "-C", folder]);
  const [installed, linked] = [join(ROOT, "node_modules"), join(folder, "node_modules")];
  await mkdir(join(linked, "@colloquy"), { recursive: true });
  for (const name of await readdir(installed)) {
    if (name !== "@colloquy") await symlink(join(installed, name), join(linked, name));
  }
  for (const name of PACKAGES) {
    await symlink(join(folder, "packages", name), join(linked, "@colloquy", name));
  }
  const main = join(folder, "packages/server/src/main.ts");
  return { main, remove: () => rm(folder, { recursive: true, force: true }) };
}

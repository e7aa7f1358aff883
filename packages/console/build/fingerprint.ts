// Detects whether a build is up to date with its sources. By content, because clones, branches and copies
// change times.

import { createHash } from "node:crypto";
import { glob, readFile } from "node:fs/promises";
import { join } from "node:path";

const REPOSITORY = join(import.meta.dirname, "../../..");
/** All inputs of the console build, relative to the repository root. */
const SOURCES = [
  "package-lock.json",
  "packages/console/{index.html,package.json,vite.config.ts}",
  "packages/console/{build,src}/**/*.*",
  "packages/{client,react,ui,protocol}/package.json",
  "packages/{client,react,ui,protocol}/src/**/*.*",
];
/** Tests are not inputs. */
const LEFT_OUT = /\.test\.tsx?$/;

/** Where the build stores the fingerprint of its sources, in its output folder. */
export const FINGERPRINT_FILE = "sources.sha256";

/** Returns a hash of the names and contents of all sources below `repository`. */
export async function fingerprint(repository: string = REPOSITORY): Promise<string> {
  const names: string[] = [];
  for await (const name of glob(SOURCES, { cwd: repository })) if (!LEFT_OUT.test(name)) names.push(name);
  const hash = createHash("sha256");
  for (const name of names.toSorted()) {
    const content = await readFile(join(repository, name));
    hash.update(`${name.replaceAll("\\", "/")}\0${content.length}\0`).update(content);
  }
  return hash.digest("hex");
}

// Whether what is built is what the sources say. By content: a clone, a branch and a copy change times and not what is in the files.

import { createHash } from "node:crypto";
import { glob, readFile } from "node:fs/promises";
import { join } from "node:path";

const REPOSITORY = join(import.meta.dirname, "../../..");
/** Everything that goes into the console, from the repository's root. */
const SOURCES = [
  "package-lock.json",
  "packages/console/{index.html,package.json,vite.config.ts}",
  "packages/console/{build,src}/**/*.*",
  "packages/{client,react,protocol}/package.json",
  "packages/{client,react,protocol}/src/**/*.*",
];
/** Tests go into nothing. */
const LEFT_OUT = /\.test\.tsx?$/;

/** Where the build notes what it was made of, in the folder that it made. */
export const FINGERPRINT_FILE = "sources.sha256";

/** Of all sources below `repository`: their names and what is in them. */
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

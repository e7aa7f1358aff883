// The files of a new project.

import { cp, mkdir, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** The templates with their descriptions. */
export const TEMPLATES = {
  service: "a service with one tool, its test, and the built-in console",
  react: "the same and a chat page in React, with Vite and the components of @colloquy/ui",
  express: "the same behind your own server with a login, in Express",
} as const;

export type Template = keyof typeof TEMPLATES;

/** Error for a directory that cannot contain a new project. */
export class UnusableDirectory extends Error {}

/** Written by build/build-package.ts. */
const FOLDER = join(import.meta.dirname, "templates");
/** npm leaves a `.gitignore` out of packages. */
const GITIGNORE = "gitignore";

/** Returns a valid name for the package in a directory of this name. */
export function packageName(directory: string): string {
  const name = directory
    .toLowerCase()
    .replaceAll(/[^a-z0-9._~-]+/g, "-")
    .replace(/^[-._]+/, "")
    .replace(/-+$/, "");
  return name.slice(0, 214) || "my-app";
}

/**
 * Writes the project. Throws `UnusableDirectory` if the directory contains files other than `.git`, and
 * rethrows errors of the file system.
 */
export async function writeProject(directory: string, template: Template, name: string): Promise<void> {
  const present = await filesIn(directory);
  if (present.some((file) => file !== ".git")) {
    throw new UnusableDirectory(`${directory} is not empty. Choose another directory, or empty it first.`);
  }
  await mkdir(directory, { recursive: true });
  await cp(join(FOLDER, template), directory, { recursive: true });
  await rename(join(directory, GITIGNORE), join(directory, `.${GITIGNORE}`));
  const manifest = join(directory, "package.json");
  const fields = JSON.parse(await readFile(manifest, "utf8")) as object;
  await writeFile(manifest, `${JSON.stringify({ ...fields, name }, null, 2)}\n`);
}

async function filesIn(directory: string): Promise<readonly string[]> {
  try {
    return await readdir(directory);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return [];
    if (code !== "ENOTDIR") throw error;
    throw new UnusableDirectory(`${directory} is a file. Choose another directory.`);
  }
}

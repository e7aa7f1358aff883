// Files and lines of the server, by top-level folder.

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

const SOURCES = join(import.meta.dirname, "../../packages/server/src");

export interface Folder {
  readonly files: number;
  readonly lines: number;
}

/**
 * Counts TypeScript that runs in production: no tests, suites and fixtures. Files beside the folders count as
 * the folder ".".
 */
export function countFolders(): ReadonlyMap<string, Folder> {
  const folders = new Map<string, Folder>();
  const files = globSync("**/*.ts", { cwd: SOURCES }).filter(
    (file) => !/\.(?:test|suite)\.ts$|(?:^|\/)testing\//.test(file),
  );
  for (const file of files.toSorted()) {
    const folder = file.includes("/") ? file.slice(0, file.indexOf("/")) : ".";
    const { files: before, lines } = folders.get(folder) ?? { files: 0, lines: 0 };
    const text = readFileSync(join(SOURCES, file), "utf8");
    folders.set(folder, { files: before + 1, lines: lines + text.split("\n").length - 1 });
  }
  return folders;
}

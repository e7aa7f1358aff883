// Which files a configuration was read from, and whether they have changed since.

import { statSync } from "node:fs";

/** By absolute path: what identifies the content that was read; empty if there was no file. */
export type FileStamps = ReadonlyMap<string, string>;

export function stampOf(path: string): string {
  try {
    const { mtimeNs, size, ino } = statSync(path, { bigint: true });
    return `${mtimeNs} ${size} ${ino}`;
  } catch {
    return "";
  }
}

/** Returns the files that were written, replaced, made or removed since. */
export function changedFiles(stamps: FileStamps): readonly string[] {
  return [...stamps].filter(([path, stamp]) => stampOf(path) !== stamp).map(([path]) => path);
}

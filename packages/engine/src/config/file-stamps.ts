// The files that a configuration was read from, and whether they have changed since then.

import { statSync } from "node:fs";

/** Fingerprint of the content that was read, by absolute path; empty for a missing file. */
export type FileStamps = ReadonlyMap<string, string>;

export function stampOf(path: string): string {
  try {
    const { mtimeNs, size, ino } = statSync(path, { bigint: true });
    return `${mtimeNs} ${size} ${ino}`;
  } catch {
    return "";
  }
}

/** Returns the files that were written, replaced, created or removed since the stamps were taken. */
export function changedFiles(stamps: FileStamps): readonly string[] {
  return [...stamps].filter(([path, stamp]) => stampOf(path) !== stamp).map(([path]) => path);
}

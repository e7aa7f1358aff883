// Restricts the data to the service's user, regardless of the umask and of who created the directory.

import { chmodSync, closeSync, constants, openSync, statSync } from "node:fs";
import { join } from "node:path";

export const OWNER_ONLY = 0o600;
export const OWNER_ONLY_FOLDER = 0o700;
const OTHERS = 0o077;
/** Mode bit of a directory that many users share, such as /tmp. */
const STICKY = 0o1000;

/** The files of the data directory, except `secret.key`, which is checked when it is read. */
const FILES = [
  "colloquy.db",
  "colloquy.db-wal",
  "colloquy.db-shm",
  "server.lock",
  "server.pid",
  "server.address",
  "secrets.lock",
];

/**
 * Creates an empty file with access for its owner only. Ignores errors: SQLite opens the file next, and
 * reports them.
 */
export function createPrivateFile(path: string): void {
  try {
    closeSync(openSync(path, "ax", OWNER_ONLY));
  } catch {
    // SQLite reports the error.
  }
}

export interface Tightened {
  readonly path: string;
  /** The file's mode before the change, such as `755`. */
  readonly mode: string;
  /** `false` if the file system or the owner did not permit the change. */
  readonly isTight: boolean;
}

/**
 * Removes the permissions of other users from a data directory and its files. Returns the paths that others
 * could access. Ignores anything but a directory: the start fails on it next.
 */
export function tightenData(directory: string): readonly Tightened[] {
  if (((modeOf(directory) ?? 0) & constants.S_IFMT) !== constants.S_IFDIR) return [];
  return [directory, ...FILES.map((name) => join(directory, name))].flatMap(tighten);
}

function tighten(path: string): readonly Tightened[] {
  const mode = modeOf(path);
  if (mode === null || (mode & OTHERS) === 0) return [];
  const found = (isTight: boolean) => [{ path, mode: (mode & 0o777).toString(8), isTight }];
  if ((mode & STICKY) !== 0) return found(false);
  try {
    chmodSync(path, mode & ~OTHERS);
  } catch {
    return found(false);
  }
  // Some file systems ignore `chmod` without an error.
  return found(((modeOf(path) ?? 0) & OTHERS) === 0);
}

/** Returns `null` if the file is absent or cannot be examined. */
function modeOf(path: string): number | null {
  try {
    return statSync(path).mode;
  } catch {
    return null;
  }
}

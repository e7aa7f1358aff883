// The data belongs to the service's user alone, whatever the umask and whoever made the directory.

import { chmodSync, closeSync, openSync, statSync } from "node:fs";
import { join } from "node:path";

export const OWNER_ONLY = 0o600;
export const OWNER_ONLY_FOLDER = 0o700;
const OTHERS = 0o077;
/** A folder that many users share, such as /tmp. */
const STICKY = 0o1000;

/** What the service keeps in its data directory; `secret.key` is looked at where it is read. */
const FILES = [
  "colloquy.db",
  "colloquy.db-wal",
  "colloquy.db-shm",
  "server.lock",
  "server.pid",
  "server.address",
  "secrets.lock",
];

/** Creates a file, empty and for its owner alone, unless it is there or cannot be made: SQLite, which opens it next, says why. */
export function createPrivateFile(path: string): void {
  try {
    closeSync(openSync(path, "ax", OWNER_ONLY));
  } catch {
    // As above.
  }
}

export interface Tightened {
  readonly path: string;
  /** Rights that were found, such as `755`. */
  readonly mode: string;
  /** `false` where the file system, or its owner, lets others keep their rights. */
  readonly isTight: boolean;
}

/** Takes the rights of others from a data directory, and from what is in it. Returns what was open to them. */
export function tightenData(directory: string): readonly Tightened[] {
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
  // Some file systems take any rights and keep their own.
  return found(((modeOf(path) ?? 0) & OTHERS) === 0);
}

/** `null` where there is no such file, or it cannot be looked at: whoever opens it says so. */
function modeOf(path: string): number | null {
  try {
    return statSync(path).mode;
  } catch {
    return null;
  }
}

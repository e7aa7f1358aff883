// Creates the data directory, and turns errors of its use into user-facing messages.

import { existsSync, closeSync, fsyncSync, mkdirSync, opendirSync, openSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { describeFileError } from "../../core/file-error.ts";
import { DATABASE_FILE } from "./database.ts";
import { OWNER_ONLY_FOLDER } from "./private-files.ts";

const OTHER = "choose another directory with COLLOQUY_DATA_DIR.";
const RIGHTS = `Let the user of the service write there, or ${OTHER}`;
const DAMAGED = `Restore a backup (docs/operations.md), or ${OTHER}`;

/** Advice for SQLite's primary result codes (sqlite.org/rescode.html). */
const ADVICE: Readonly<Record<number, string>> = {
  3: RIGHTS,
  5: "Another program has it open and keeps it to itself: let that one finish.",
  8: RIGHTS,
  10: `Look at its disk, or ${OTHER}`,
  11: DAMAGED,
  13: `Make room on its disk, or ${OTHER}`,
  14: `See that it is a file that the user of the service may write, or ${OTHER}`,
  26: DAMAGED,
};

/**
 * Creates the data directory durably, with access for its owner only. Creates folder by folder, because
 * Node's recursive mode never ends in some places, such as `/proc`.
 */
export function createDirectory(directory: string): void {
  const missing: string[] = [];
  for (let folder = directory; !existsSync(folder); folder = dirname(folder)) missing.unshift(folder);
  for (const folder of missing) {
    makeFolder(folder);
    syncFolder(folder);
    syncFolder(dirname(folder));
  }
  // Throws if the path is not a directory.
  opendirSync(directory).closeSync();
}

/** Returns true if the directory contains anything with the name of the database. Throws like `inDirectory`. */
export function hasDatabase(directory: string): boolean {
  return inDirectory(directory, () => {
    try {
      statSync(join(directory, DATABASE_FILE));
      return true;
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "ENOENT") return false;
      throw error;
    }
  });
}

/** Runs `open`. Rethrows errors of the file system and of SQLite with a user-facing message. */
export function inDirectory<Result>(directory: string | null, open: () => Result): Result {
  try {
    return open();
  } catch (error) {
    if (directory === null || !(error instanceof Error) || !("code" in error)) throw error;
    const sqlite = "errcode" in error && typeof error.errcode === "number" ? error.errcode % 256 : null;
    const advice = sqlite === null ? RIGHTS : ADVICE[sqlite];
    // All other errors are defects.
    if (advice === undefined || (sqlite === null && !("syscall" in error))) throw error;
    const place =
      sqlite === null ? `The data directory ${directory}` : `The database ${join(directory, DATABASE_FILE)}`;
    throw new Error(describeFileError(place, error, advice), { cause: error });
  }
}

/** Creates a folder, which another process may create at the same time. */
function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { mode: OWNER_ONLY_FOLDER });
  } catch (error) {
    if (!existsSync(folder)) throw error;
  }
}

function syncFolder(folder: string): void {
  const descriptor = openSync(folder, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

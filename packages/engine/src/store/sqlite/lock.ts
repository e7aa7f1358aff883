// One server per data directory. The lock is SQLite's own, on a small file beside the database: the operating
// system releases it when the process ends in any way. Administration commands open the database without it.

import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "./node-sqlite.ts";
import { createPrivateFile, OWNER_ONLY } from "./private-files.ts";
import { forgetAddress, removeOldAddress } from "./served-address.ts";

const SQLITE_BUSY = 5;
const OWNER_FILE = "server.pid";

/** Locks the directory. Throws with a user-facing message if another server has locked it. */
export function lockDirectory(directory: string, processId: number | null): { release(): void } {
  const owner = join(directory, OWNER_FILE);
  const lock = lockFile(join(directory, "server.lock"));
  if (lock === null) {
    const holder = readOwner(directory);
    throw new Error(
      `The data directory ${directory} is in use by another Colloquy server${holder === null ? "" : ` (process ${holder})`}. ` +
        "Stop that server first, or set another directory with COLLOQUY_DATA_DIR.",
    );
  }
  try {
    removeOldAddress(directory);
  } catch (error) {
    lock.release();
    throw error;
  }
  noteOwner(owner, processId);
  return {
    release: () => {
      try {
        forgetAddress(directory);
        noteOwner(owner, null);
      } finally {
        lock.release();
      }
    },
  };
}

/**
 * Locks a file until the lock is released or the process ends; creates the file if it does not exist. Returns
 * `null` if another process has locked it.
 */
export function lockFile(path: string): { release(): void } | null {
  createPrivateFile(path);
  const lock = new DatabaseSync(path);
  try {
    lock.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    lock.close();
    if (isBusy(error)) return null;
    throw error;
  }
  return { release: () => lock.close() };
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && "errcode" in error && error.errcode === SQLITE_BUSY;
}

/**
 * Records the owner, or removes the file if `processId` is `null`. Ignores errors, because only messages and
 * commands use the record.
 */
function noteOwner(path: string, processId: number | null): void {
  try {
    rmSync(path, { force: true });
    if (processId !== null) writeFileSync(path, `${processId}\n`, { mode: OWNER_ONLY });
  } catch {
    // The lock does not depend on the record.
  }
}

/**
 * Returns the id of the process that has locked the directory, or `null` if it is not recorded. Valid only
 * while the lock is held.
 */
export function readOwner(directory: string): number | null {
  try {
    return Number(readFileSync(join(directory, OWNER_FILE), "utf8")) || null;
  } catch {
    return null;
  }
}

// One server per data directory. The lock is SQLite's own, on a small file beside the database: the operating system releases it when the
// process ends, however it ends. Administration opens the database without it.

import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createPrivateFile, OWNER_ONLY } from "./private-files.ts";
import { forgetAddress, removeOldAddress } from "./served-address.ts";

const SQLITE_BUSY = 5;
const OWNER_FILE = "server.pid";

/** Locks the directory. Throws, with a message for the person who started the process, if another server has it. */
export function lockDirectory(directory: string, processId: number | null): { release(): void } {
  const owner = join(directory, OWNER_FILE);
  const lock = lockFile(join(directory, "server.lock"));
  if (lock === null) {
    const holder = readOwner(directory);
    throw new Error(
      `The data directory ${directory} is in use by another Colloquy server${holder === null ? "" : ` (process ${holder})`}. ` +
        "Stop that one first, or give this one a directory of its own with COLLOQUY_DATA_DIR.",
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

/** Locks a file, created if absent, until released or until the process ends; `null` if another process has locked it. */
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

/** For messages and commands, so errors are ignored. `null` removes the file. */
function noteOwner(path: string, processId: number | null): void {
  try {
    rmSync(path, { force: true });
    if (processId !== null) writeFileSync(path, `${processId}\n`, { mode: OWNER_ONLY });
  } catch {
    // The lock does not depend on it.
  }
}

/** Returns the id of the process that has the directory, valid while the lock is held; `null` if it is not noted. */
export function readOwner(directory: string): number | null {
  try {
    return Number(readFileSync(join(directory, OWNER_FILE), "utf8")) || null;
  } catch {
    return null;
  }
}

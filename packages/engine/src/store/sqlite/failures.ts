// Classifies SQLite's errors: a full disk, a store that is busy or temporarily broken, a failed fsync, or a
// defect.

import type { Failure } from "./calls.ts";
import { FilesLostError } from "./data-files.ts";

/** Extended result codes (sqlite.org/rescode.html). */
const IOERR_WRITE = 778;
const IOERR_FSYNC = 1034;
const IOERR_DIR_FSYNC = 1290;
const IOERR_SHMSIZE = 4874;

/** Primary result codes. */
const SQLITE_ERROR = 1;
const SQLITE_FULL = 13;
const SQLITE_TOOBIG = 18;
const SQLITE_CONSTRAINT = 19;
const SQLITE_MISMATCH = 20;
const SQLITE_MISUSE = 21;
const SQLITE_RANGE = 25;

const DEFECTS: ReadonlySet<number> = new Set([
  SQLITE_ERROR,
  SQLITE_TOOBIG,
  SQLITE_CONSTRAINT,
  SQLITE_MISMATCH,
  SQLITE_MISUSE,
  SQLITE_RANGE,
]);

/**
 * After a failed fsync the kernel has dropped the pages and marks them clean: a second fsync succeeds and
 * proves nothing. Only a new process, which reads the pages from disk, can continue (contract section 3).
 */
export class FatalStoreError extends Error {
  constructor(cause: unknown) {
    super(`The disk did not keep what was written to it (${describe(cause)})`, { cause });
    this.name = "FatalStoreError";
  }
}

/** Returns the failure of an error. Throws a `FatalStoreError` if the process must end. */
export function failureOf(error: unknown): Failure {
  if (error instanceof FilesLostError) return { kind: "lost", cause: error.message };
  const code = sqliteCode(error);
  if (code === null) return { kind: "defect", error };
  if (code === IOERR_FSYNC || code === IOERR_DIR_FSYNC) throw new FatalStoreError(error);
  // Beyond a file-size limit or a quota, writes fail as IOERR_WRITE, and the growing index of the log as
  // IOERR_SHMSIZE.
  if (code % 256 === SQLITE_FULL || code === IOERR_WRITE || code === IOERR_SHMSIZE) {
    return { kind: "full", cause: describe(error) };
  }
  return DEFECTS.has(code % 256)
    ? { kind: "defect", error }
    : { kind: "unavailable", cause: describe(error) };
}

function sqliteCode(error: unknown): number | null {
  return error instanceof Error && "errcode" in error && typeof error.errcode === "number"
    ? error.errcode
    : null;
}

function describe(error: unknown): string {
  const code = sqliteCode(error);
  const message = error instanceof Error ? error.message : String(error);
  return code === null ? message : `${message}, SQLite code ${code}`;
}

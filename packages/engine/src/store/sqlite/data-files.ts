// Checks that the open files of the database are still those in the data directory, and can be written. SQLite
// does not notice in WAL mode: it would write to deleted files, and everything would be gone at the next start.

import { closeSync, openSync, rmSync, statfsSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { OWNER_ONLY } from "./private-files.ts";

/** The database, its log, and the log's index, which stay the same files while a connection is open. */
const SUFFIXES = ["", "-wal", "-shm"];

/**
 * Free bytes below which the disk counts as full. The largest write takes less; smaller ones may still fit
 * into the free pages of the files.
 */
const FULL_BYTES = 4 * 1024 * 1024;

const TRIAL_FILE = "colloquy-trial";

/** The open files are not those in the directory any more, or cannot be written. `message` is for the log. */
export class FilesLostError extends Error {
  override readonly name = "FilesLostError";
}

export interface DataFiles {
  /** @throws FilesLostError if a file was removed or replaced */
  check(): void;
  /** @throws FilesLostError if the file system is read-only */
  checkWritable(): void;
  /** Returns true if the disk has no room for the largest write. */
  isFull(): boolean;
}

const IN_MEMORY: DataFiles = { check: () => undefined, checkWritable: () => undefined, isFull: () => false };

/** Must be called after the first read, which creates the log. */
export function watchFiles(database: DatabaseSync): DataFiles {
  const location = database.location();
  if (location === null) return IN_MEMORY;
  const opened = SUFFIXES.map((suffix) => `${location}${suffix}`).map((path) => ({
    path,
    file: identify(path),
  }));
  const directory = dirname(location);
  return {
    check() {
      for (const { path, file } of opened) {
        const found = identify(path);
        if (found !== file) throw lost(path, found === null ? "removed" : "replaced");
      }
    },
    checkWritable() {
      try {
        createAndRemove(join(directory, TRIAL_FILE));
      } catch (error) {
        if (error instanceof Error && "code" in error && error.code === "EROFS") throw readOnly(directory);
      }
    },
    isFull() {
      const { bavail, bsize, blocks } = statfsSync(directory);
      // Some file systems, such as those of FUSE, do not report sizes.
      return blocks > 0 && bavail * bsize < FULL_BYTES;
    },
  };
}

/** Returns the identity of the file at this path, `null` if there is none. */
function identify(path: string): string | null {
  const found = statSync(path, { throwIfNoEntry: false, bigint: true });
  return found === undefined ? null : `${found.dev}:${found.ino}`;
}

function createAndRemove(path: string): void {
  closeSync(openSync(path, "w", OWNER_ONLY));
  rmSync(path);
}

function lost(path: string, how: "removed" | "replaced"): FilesLostError {
  return new FilesLostError(
    `${path} was ${how} while the service has it open, so nothing that is written would be there at the next start. ` +
      "Do not stop the service: put the same file back (mount its volume again, undo the rename), or copy the open files first (docs/operations.md)",
  );
}

function readOnly(directory: string): FilesLostError {
  return new FilesLostError(
    `The file system of ${directory} is read-only, as after an error of its disk. ` +
      "Look at the kernel's log (dmesg), repair the disk, mount it for writing, and start the service again",
  );
}

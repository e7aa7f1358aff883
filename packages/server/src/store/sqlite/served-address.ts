// Where the server that has a data directory listens, in a file beside the database, so that commands on the same machine talk with that one
// and with no other. It holds good only while the directory's lock is held: whoever takes the lock, or lets go of it, removes the file.

import { lstatSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { OWNER_ONLY } from "./private-files.ts";

const ADDRESS_FILE = "server.address";

/** On a full disk the server is there without it. */
export function noteAddress(directory: string, url: string): void {
  const path = join(directory, ADDRESS_FILE);
  try {
    writeFileSync(`${path}.new`, `${url}\n`, { mode: OWNER_ONLY });
    renameSync(`${path}.new`, path);
  } catch {
    // Commands say that they do not know where it is.
  }
}

/** On the way out, which goes on also where nothing can be removed: then whoever takes the lock next is told. */
export function forgetAddress(directory: string): void {
  try {
    rmSync(join(directory, ADDRESS_FILE), { force: true });
  } catch {
    // It is in force no longer than the lock is held.
  }
}

/** Of a server that has ended without a word. Throws, with a sentence for the person who starts the next one, where it stays there. */
export function removeOldAddress(directory: string): void {
  const path = join(directory, ADDRESS_FILE);
  try {
    rmSync(path, { force: true });
  } catch (error) {
    if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return;
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(
      `${path}, which says where a server listened that has ended, cannot be removed (${reason}). ` +
        "Commands on this machine would look for the new one there. " +
        "Remove it, and let the user of the service write in its directory.",
      { cause: error },
    );
  }
}

/** `null` where none is noted, or the file cannot be read. */
export function readAddress(directory: string): string | null {
  try {
    const url = readFileSync(join(directory, ADDRESS_FILE), "utf8").trim();
    return URL.canParse(url) ? url : null;
  } catch {
    return null;
  }
}

// The address of a data directory's server, in a file beside the database, for commands on the same machine.
// It is valid only while the directory's lock is held: taking and releasing the lock both remove the file.

import { lstatSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { OWNER_ONLY } from "./private-files.ts";

const ADDRESS_FILE = "server.address";

/** Records the address. Ignores errors, because a server on a full disk runs without the record. */
export function noteAddress(directory: string, url: string): void {
  const path = join(directory, ADDRESS_FILE);
  try {
    writeFileSync(`${path}.new`, `${url}\n`, { mode: OWNER_ONLY });
    renameSync(`${path}.new`, path);
  } catch {
    // Commands then report that the address is unknown.
  }
}

/** Removes the address. Ignores errors, because the next owner of the lock reports them. */
export function forgetAddress(directory: string): void {
  try {
    rmSync(join(directory, ADDRESS_FILE), { force: true });
  } catch {
    // The address becomes invalid when the lock is released.
  }
}

/** Removes the address of a server that crashed. Throws with a user-facing message if that fails. */
export function removeOldAddress(directory: string): void {
  const path = join(directory, ADDRESS_FILE);
  try {
    rmSync(path, { force: true });
  } catch (error) {
    if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return;
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(
      `${path} has the address of a server that has ended, and cannot be removed (${reason}). ` +
        "Commands on this machine would use that address. " +
        "Remove the file, and make its directory writable for the service's user.",
      { cause: error },
    );
  }
}

/** Returns `null` if there is no address or the file cannot be read. */
export function readAddress(directory: string): string | null {
  try {
    const url = readFileSync(join(directory, ADDRESS_FILE), "utf8").trim();
    return URL.canParse(url) ? url : null;
  } catch {
    return null;
  }
}

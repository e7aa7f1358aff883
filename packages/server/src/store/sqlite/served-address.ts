// Where the server that has a data directory listens, in a file beside the database, so that commands on the same machine talk with that one
// and with no other. It holds good only while the directory's lock is held: whoever takes the lock, or lets go of it, removes the file.

import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const ADDRESS_FILE = "server.address";

/** On a full disk the server is there without it. */
export function noteAddress(directory: string, url: string): void {
  const path = join(directory, ADDRESS_FILE);
  try {
    writeFileSync(`${path}.new`, `${url}\n`, { mode: 0o600 });
    renameSync(`${path}.new`, path);
  } catch {
    // Commands say that they do not know where it is.
  }
}

export function forgetAddress(directory: string): void {
  rmSync(join(directory, ADDRESS_FILE), { force: true });
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

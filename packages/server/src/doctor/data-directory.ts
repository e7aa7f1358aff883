import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { open, rm, statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import { broken, failed, type Finding, ok, warning } from "./finding.ts";

const ABOUT = "data directory";
const MEBIBYTE = 1024 * 1024;
/** Free space that a busy hour may use up. */
const LOW_BYTES = 1024 * MEBIBYTE;
const FULL_BYTES = 64 * MEBIBYTE;

/** Checks write access and free space. Removes its test file. */
export async function examineDataDirectory(directory: string): Promise<Finding> {
  const place = nearestExisting(directory);
  try {
    await tryToWrite(place);
    const { bavail, bsize } = await statfs(place);
    return spaceFinding(directory, bavail * bsize);
  } catch (error) {
    const mend = `Give the user of the service write access, or choose another directory with COLLOQUY_DATA_DIR.`;
    return failed(ABOUT, `${directory} cannot be written to`, error, mend);
  }
}

/** `free` is in bytes. */
export function spaceFinding(directory: string, free: number): Finding {
  const found = `${directory} can be written to, with ${Math.floor(free / MEBIBYTE)} MiB free.`;
  const mend = "Free space on its disk: when it is full, chats are rejected with 507, and nothing is lost.";
  if (free < FULL_BYTES) return broken(ABOUT, found, mend);
  return free < LOW_BYTES ? warning(ABOUT, found, mend) : ok(ABOUT, found);
}

async function tryToWrite(directory: string): Promise<void> {
  const path = join(directory, `.colloquy-doctor-${randomUUID()}`);
  try {
    const file = await open(path, "wx", 0o600);
    try {
      await file.writeFile("written by colloquy doctor\n");
      await file.sync();
    } finally {
      await file.close();
    }
  } finally {
    await rm(path, { force: true });
  }
}

function nearestExisting(directory: string): string {
  return existsSync(directory) || directory === dirname(directory)
    ? directory
    : nearestExisting(dirname(directory));
}

// The file `secret.key` of the data directory: the master keys of a service that was given none, one a line, newest first. It is only ever
// replaced as a whole, so that whoever reads it, at whatever moment and after whatever crash, sees all of one state.

import { link, open, readFile, realpath, rename, rm, stat } from "node:fs/promises";
import { platform } from "node:os";
import { dirname } from "node:path";
import { randomUUID } from "node:crypto";
import { formatMasterKey, parseMasterKeys } from "../../core/master-key.ts";

const OWNER_ONLY = 0o600;
const OTHERS = 0o077;

export interface KeyFile {
  readonly path: string;
  /** Newest first, none when there is no file. Rejects with a sentence when it cannot be read or does not hold keys. */
  read(): Promise<readonly Uint8Array[]>;
  /** Whether other users of the machine may open it. */
  isExposed(): Promise<boolean>;
  /** Makes the file with this key, unless there is one. */
  create(key: Uint8Array): Promise<void>;
  /** `keys`: newest first. */
  replace(keys: readonly Uint8Array[]): Promise<void>;
}

export function createKeyFile(path: string): KeyFile {
  return {
    path,
    async read() {
      const text = await readOrNone(path);
      if (text === null) return [];
      const parsed = parseMasterKeys(text);
      if ("problem" in parsed) throw new Error(`The file ${path} ${parsed.problem}`);
      if (parsed.keys.length === 0) {
        throw new Error(
          `The file ${path} is empty. Put the master key back, or remove the file if there never was one.`,
        );
      }
      return parsed.keys;
    },
    async isExposed() {
      if (platform() === "win32") return false;
      try {
        return ((await stat(path)).mode & OTHERS) !== 0;
      } catch (error) {
        if (isMissing(error)) return false;
        throw error;
      }
    },
    async create(key) {
      const draft = `${path}.${randomUUID()}`;
      try {
        await write(draft, [key]);
        // Unlike a renaming, a link never takes the place of a file that somebody else has made meanwhile.
        await link(draft, path);
      } catch (error) {
        if (codeOf(error) !== "EEXIST") throw error;
      } finally {
        await rm(draft, { force: true });
      }
      await syncFolder(path);
    },
    async replace(keys) {
      // Where the file is a link, what it leads to is replaced.
      const target = await realpath(path);
      const draft = `${target}.new`;
      await rm(draft, { force: true });
      await write(draft, keys);
      await rename(draft, target);
      await syncFolder(target);
    },
  };
}

async function readOrNone(path: string): Promise<string | null> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

/** Writes a new file, for its owner alone, to the disk. */
async function write(path: string, keys: readonly Uint8Array[]): Promise<void> {
  const file = await open(path, "wx", OWNER_ONLY);
  try {
    await file.writeFile(keys.map((key) => `${formatMasterKey(key)}\n`).join(""));
    await file.sync();
  } finally {
    await file.close();
  }
}

/** A name that was given or taken is on the disk only with its folder. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(dirname(path), "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

function isMissing(error: unknown): boolean {
  return codeOf(error) === "ENOENT";
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : null;
}

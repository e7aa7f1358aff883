// The file `secret.key` in the data directory: the master keys of a service without a configured key, one per
// line, newest first. The file is only replaced atomically, so that every reader sees a complete state, even
// after a crash.

import { link, open, readFile, realpath, rename, rm, stat } from "node:fs/promises";
import { platform } from "node:os";
import { dirname } from "node:path";
import { randomUUID } from "node:crypto";
import { formatMasterKey, parseMasterKeys } from "../../core/secrets.ts";

const OWNER_ONLY = 0o600;
const OTHERS = 0o077;

export interface KeyFile {
  readonly path: string;
  /**
   * Returns the keys, newest first; empty if there is no file. Rejects with a user-facing message if the file
   * is unreadable.
   */
  read(): Promise<readonly Uint8Array[]>;
  /** Returns true if other users of the machine may read or write the file. */
  isExposed(): Promise<boolean>;
  /** Creates the file with this key, unless it exists. */
  create(key: Uint8Array): Promise<void>;
  /** Replaces the keys, which are ordered newest first. */
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
        // Unlike rename, link never overwrites a file that another process has just created.
        await link(draft, path);
      } catch (error) {
        if (codeOf(error) !== "EEXIST") throw error;
      } finally {
        await rm(draft, { force: true });
      }
      await syncFolder(path);
    },
    async replace(keys) {
      // If the file is a symbolic link, replace its target.
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

/** Writes a new file, readable by its owner only, and syncs it to disk. */
async function write(path: string, keys: readonly Uint8Array[]): Promise<void> {
  const file = await open(path, "wx", OWNER_ONLY);
  try {
    await file.writeFile(keys.map((key) => `${formatMasterKey(key)}\n`).join(""));
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Syncs the directory: a created or renamed entry is durable only then. */
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

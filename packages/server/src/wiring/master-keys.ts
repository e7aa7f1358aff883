// Finds the master key that seals the secrets of Apps (contract section 4): in the environment, or in a file of the data
// directory.

import { join } from "node:path";
import { createKeyFile, type KeyFile } from "../apps/secrets/key-file.ts";
import { givenKeys, type KeyRing, keysInFile } from "../apps/secrets/master-key.ts";
import { rotateGivenKeys, rotateKeyInFile, type Rotation } from "../apps/secrets/rotation.ts";
import { Vault } from "../apps/secrets/vault.ts";
import type { Hidden } from "../core/hidden.ts";
import type { Config } from "../config/config.ts";
import { parseMasterKeys } from "../core/secrets.ts";
import type { Logger } from "../core/ports/driven/logger.ts";
import type { SecretStore } from "../core/ports/driven/secret-store.ts";
import { lockFile } from "../store/sqlite/lock.ts";

export interface MasterKeySettings {
  /**
   * True if other nodes share the secrets, because they cannot read a key file of this machine. Defaults to
   * false.
   */
  readonly isShared?: boolean;
  /** Absolute path. */
  readonly dataDirectory: string;
  /** `COLLOQUY_SECRET_KEY`, or `null` if it is not set. */
  readonly secretKey: Hidden<string> | null;
}

/** Throws a user-facing Error if the given key is invalid. */
export function openVault(settings: MasterKeySettings, store: SecretStore, logger: Logger): Vault {
  return new Vault({ store, ring: keyRingOf(settings), logger });
}

/** Returns `null` if a key is required and not set. Throws like `openVault`. */
export function keyRingOf(settings: MasterKeySettings): KeyRing | null {
  const given = givenIn(settings);
  if (given !== null) return givenKeys(given, "COLLOQUY_SECRET_KEY");
  return settings.isShared === true ? null : keysInFile(keyFileOf(settings));
}

export function masterKeySettings({
  server,
  secretKey,
  databaseUrl,
}: Pick<Config, "server" | "secretKey" | "databaseUrl">): MasterKeySettings {
  return { isShared: databaseUrl !== null, dataDirectory: server.dataDirectory, secretKey };
}

const GIVEN_TO_NODES =
  "Nodes that share a database are given their master keys. Set COLLOQUY_SECRET_KEY to the new key, a comma, and the old ones.";

/** Seals all secrets with a new key; see `Rotation`. Rejects with a user-facing Error. */
export async function rotateMaster(
  settings: MasterKeySettings,
  store: SecretStore,
  discardUnreadable: boolean,
): Promise<Rotation> {
  const options = { store, discardUnreadable };
  const given = givenIn(settings);
  if (settings.isShared === true) {
    // A lock on this machine would not prevent a rotation on another one; the store detects concurrent rotations.
    if (given === null) throw new Error(GIVEN_TO_NODES);
    return await rotateGivenKeys(given, options);
  }
  const lock = lockFile(join(settings.dataDirectory, "secrets.lock"));
  if (lock === null)
    throw new Error("Another rotation of the master key is in progress. Wait for it to finish.");
  try {
    return await (given === null
      ? rotateKeyInFile(keyFileOf(settings), options)
      : rotateGivenKeys(given, options));
  } finally {
    lock.release();
  }
}

function keyFileOf({ dataDirectory }: MasterKeySettings): KeyFile {
  return createKeyFile(join(dataDirectory, "secret.key"));
}

function givenIn({ secretKey }: MasterKeySettings): readonly Uint8Array[] | null {
  if (secretKey === null) return null;
  const parsed = parseMasterKeys(secretKey.reveal());
  if ("problem" in parsed) throw new Error(`COLLOQUY_SECRET_KEY ${parsed.problem}`);
  return parsed.keys.length === 0 ? null : parsed.keys;
}

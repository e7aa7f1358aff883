// Finds the master key that seals the secrets of Apps (contract section 4): in the environment, or in a file of the data
// directory.

import { join } from "node:path";
import { createKeyFile, type KeyFile } from "../apps/secrets/key-file.ts";
import { operatorKeys, type KeyRing, keysInFile } from "../apps/secrets/master-key.ts";
import { rotateOperatorKeys, rotateKeyInFile, type Rotation } from "../apps/secrets/rotation.ts";
import { Vault } from "../apps/secrets/vault.ts";
import type { BackendPlugin } from "../core/plugins/backend.ts";
import type { Hidden } from "../core/hidden.ts";
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

/** Throws a user-facing Error if the key is invalid. */
export function openVault(settings: MasterKeySettings, store: SecretStore, logger: Logger): Vault {
  return new Vault({ store, ring: keyRingOf(settings), logger });
}

/** Returns `null` if a key is required and not set. Throws like `openVault`. */
export function keyRingOf(settings: MasterKeySettings): KeyRing | null {
  const fromOperator = operatorKeysIn(settings);
  if (fromOperator !== null) return operatorKeys(fromOperator, "COLLOQUY_SECRET_KEY");
  return settings.isShared === true ? null : keysInFile(keyFileOf(settings));
}

export function masterKeySettings({
  server,
  secretKey,
  backend,
}: {
  readonly server: Pick<MasterKeySettings, "dataDirectory">;
  readonly secretKey: Hidden<string> | null;
  readonly backend: { readonly plugin: Pick<BackendPlugin, "nodes"> };
}): MasterKeySettings {
  return { isShared: backend.plugin.nodes !== undefined, dataDirectory: server.dataDirectory, secretKey };
}

const KEYS_OF_NODES =
  "Nodes that share a database are given their master keys. Set COLLOQUY_SECRET_KEY to the new key, a comma, and the old ones.";

/** Seals all secrets with a new key; see `Rotation`. Rejects with a user-facing Error. */
export async function rotateMaster(
  settings: MasterKeySettings,
  store: SecretStore,
  discardUnreadable: boolean,
): Promise<Rotation> {
  const options = { store, discardUnreadable };
  const fromOperator = operatorKeysIn(settings);
  if (settings.isShared === true) {
    // A lock on this machine would not prevent a rotation on another one; the store detects concurrent rotations.
    if (fromOperator === null) throw new Error(KEYS_OF_NODES);
    return await rotateOperatorKeys(fromOperator, options);
  }
  const lock = lockFile(join(settings.dataDirectory, "secrets.lock"));
  if (lock === null)
    throw new Error("Another rotation of the master key is in progress. Wait for it to finish.");
  try {
    return await (fromOperator === null
      ? rotateKeyInFile(keyFileOf(settings), options)
      : rotateOperatorKeys(fromOperator, options));
  } finally {
    lock.release();
  }
}

function keyFileOf({ dataDirectory }: MasterKeySettings): KeyFile {
  return createKeyFile(join(dataDirectory, "secret.key"));
}

function operatorKeysIn({ secretKey }: MasterKeySettings): readonly Uint8Array[] | null {
  if (secretKey === null) return null;
  const parsed = parseMasterKeys(secretKey.reveal());
  if ("problem" in parsed) throw new Error(`COLLOQUY_SECRET_KEY ${parsed.problem}`);
  return parsed.keys.length === 0 ? null : parsed.keys;
}

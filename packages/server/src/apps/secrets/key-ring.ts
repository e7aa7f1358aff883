import { randomBytes } from "node:crypto";
import type { KeyFile } from "./key-file.ts";
import { createMasterKey, type MasterKey } from "./master-key.ts";

/** The source of the master keys. */
export interface KeyRing {
  /** Name in messages: "the file /data/secret.key". */
  readonly place: string;
  /** Returns the current keys, newest first. Rejects with a readable error if they cannot be read. */
  read(): Promise<readonly MasterKey[]>;
  /** Returns true if other users may read the keys. */
  isExposed(): Promise<boolean>;
  /** Creates the first key, unless there is one; `null` if the operator provides the keys. */
  readonly createFirst: (() => Promise<void>) | null;
}

/** Keys that the operator has provided: at least one, newest first. */
export function givenKeys(keys: readonly Uint8Array[], place: string): KeyRing {
  const ring = keys.map(createMasterKey);
  return {
    place,
    read: () => Promise.resolve(ring),
    isExposed: () => Promise.resolve(false),
    createFirst: null,
  };
}

/** Keys that the service manages in a file. */
export function keysInFile(file: KeyFile): KeyRing {
  return {
    place: `the file ${file.path}`,
    read: async () => (await file.read()).map(createMasterKey),
    isExposed: () => file.isExposed(),
    createFirst: () => file.create(newMasterKey()),
  };
}

export function newMasterKey(): Uint8Array {
  return randomBytes(32);
}

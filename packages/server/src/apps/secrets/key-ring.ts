import { randomBytes } from "node:crypto";
import type { KeyFile } from "./key-file.ts";
import { createMasterKey, type MasterKey } from "./master-key.ts";

/** Where the master keys are. */
export interface KeyRing {
  /** Says it to a person: "the file /data/secret.key". */
  readonly place: string;
  /** The keys as they are now, newest first. Rejects with a sentence when they cannot be read. */
  read(): Promise<readonly MasterKey[]>;
  /** Whether others may read them too. */
  isExposed(): Promise<boolean>;
  /** Makes the first key, unless there is one; `null` where keys come from outside. */
  readonly createFirst: (() => Promise<void>) | null;
}

/** Keys that the operator has given: `keys` newest first, at least one. */
export function givenKeys(keys: readonly Uint8Array[], place: string): KeyRing {
  const ring = keys.map(createMasterKey);
  return {
    place,
    read: () => Promise.resolve(ring),
    isExposed: () => Promise.resolve(false),
    createFirst: null,
  };
}

/** Keys that the service keeps by itself. */
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

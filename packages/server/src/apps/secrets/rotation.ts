// A new master key for all secrets, beside running servers. Each step leaves a state that works and from which the same command goes on:
//
// 1. the new key is in the file, before the old ones: whoever meets a secret that it has sealed can open it;
// 2. the store takes new secrets under the new key alone: a server that has not heard of it is told so when it seals;
// 3. all secrets are sealed anew, one by one;
// 4. the old keys leave the file: nothing is sealed by them, and nothing can be any more.

import { formatMasterKey } from "../../core/master-key.ts";
import type { SealedSecret, SecretStore } from "../../core/ports/secret-store.ts";
import type { KeyFile } from "./key-file.ts";
import { newMasterKey } from "./key-ring.ts";
import { createMasterKey, type MasterKey, type SecretPlace } from "./master-key.ts";

/** Secrets that are sealed anew at the same time, so that the store can commit them together. */
const PORTION = 100;

export interface RotationOptions {
  readonly store: SecretStore;
  /** Removes secrets that no key opens, instead of keeping their keys and saying so. */
  readonly discardUnreadable: boolean;
}

export type Rotation =
  /** All secrets are sealed by one key. `resumed`: it was begun before. `given`: by the operator, who can now take the older keys away. */
  | {
      readonly outcome: "done";
      readonly keyId: string;
      readonly resealed: number;
      readonly discarded: number;
      readonly resumed: boolean;
      readonly given: boolean;
    }
  /** These were changed in the store, or moved there, so nothing opens them; the old keys are kept. */
  | {
      readonly outcome: "unreadable";
      readonly keyId: string;
      readonly resealed: number;
      readonly unreadable: readonly SecretPlace[];
    }
  /** There is no key yet, and nothing to seal. */
  | { readonly outcome: "no_key" }
  /** The operator gives the keys: `secretKey` is what to give next, a new one before the one that was given. */
  | { readonly outcome: "key_needed"; readonly secretKey: string };

/** Rotates the key of a service that keeps it in a file. Only one process may do this at a time. Rejects with a sentence. */
export async function rotateKeyInFile(file: KeyFile, options: RotationOptions): Promise<Rotation> {
  const { store } = options;
  const before = await file.read();
  await mustKnowAllKeys(before.map(createMasterKey), `the file ${file.path}`, options);
  const resumed = before.length > 1;
  if (before.length === 0) {
    if (Object.keys(await store.countByKey()).length === 0) return { outcome: "no_key" };
    await file.create(newMasterKey());
  } else if (!resumed) {
    await file.replace([newMasterKey(), ...before]);
  }
  const keys = await file.read();
  const result = await sealAnew(keys.map(createMasterKey), options);
  if (result.unreadable.length > 0) return { outcome: "unreadable", ...result };
  await file.replace(keys.slice(0, 1));
  const { keyId, resealed, discarded } = result;
  return { outcome: "done", keyId, resealed, discarded, resumed, given: false };
}

/** Brings the first of the keys in force that the operator has given. Rejects with a sentence. */
export async function rotateGivenKeys(
  given: readonly Uint8Array[],
  options: RotationOptions,
): Promise<Rotation> {
  const keys = given.map(createMasterKey);
  await mustKnowAllKeys(keys, "COLLOQUY_SECRET_KEY", options);
  const [first] = keys;
  const inForce = await options.store.keyInForce();
  if (keys.length === 1 && (inForce === null || inForce === first?.id)) {
    return { outcome: "key_needed", secretKey: [newMasterKey(), ...given].map(formatMasterKey).join(",") };
  }
  const result = await sealAnew(keys, options);
  if (result.unreadable.length > 0) return { outcome: "unreadable", ...result };
  const { keyId, resealed, discarded } = result;
  return { outcome: "done", keyId, resealed, discarded, resumed: inForce === first?.id, given: true };
}

/** A key that is not here may only have been mislaid. */
async function mustKnowAllKeys(
  keys: readonly MasterKey[],
  place: string,
  { store, discardUnreadable }: RotationOptions,
): Promise<void> {
  if (discardUnreadable) return;
  const counts = Object.entries(await store.countByKey());
  const foreign = counts.filter(([id]) => !keys.some((key) => key.id === id));
  if (foreign.length === 0) return;
  const secrets = foreign.reduce((sum, [, count]) => sum + count, 0);
  throw new Error(
    `${secrets} secrets were sealed by a master key that is not in ${place} (id ${foreign.map(([id]) => id).join(", ")}). ` +
      "Put that key back, behind the newer ones, and run this again. If it is lost for good, --discard-unreadable removes what it has sealed.",
  );
}

interface SealedAnew {
  readonly keyId: string;
  readonly resealed: number;
  readonly discarded: number;
  readonly unreadable: readonly SecretPlace[];
}

/** `keys`: newest first. */
async function sealAnew(
  keys: readonly MasterKey[],
  { store, discardUnreadable }: RotationOptions,
): Promise<SealedAnew> {
  const [newest] = keys;
  if (newest === undefined) throw new Error("There is no master key.");
  const inForce = await store.bringInForce(newest.id, await store.keyInForce());
  const unreadable: SecretPlace[] = [];
  const counts = { resealed: 0, discarded: 0 };
  const handle = async (secret: SealedSecret): Promise<void> => {
    const value = keys.find(({ id }) => id === secret.keyId)?.open(secret, secret.sealed) ?? null;
    if (value !== null) {
      const sealed = newest.seal(secret, value);
      if (newest.open(secret, sealed) !== value) throw new Error("A secret cannot be sealed.");
      if (await store.replace(secret, { ...secret, keyId: newest.id, sealed })) counts.resealed += 1;
    } else if (discardUnreadable) {
      if (await store.replace(secret, null)) counts.discarded += 1;
    } else {
      const { app, clientId, name } = secret;
      unreadable.push({ app, clientId, name });
    }
  };
  let last: SealedSecret | null = null;
  do {
    const portion: readonly SealedSecret[] = await store.sealedByOthers(newest.id, last, PORTION);
    await Promise.all(portion.map(handle));
    last = portion.at(-1) ?? null;
  } while (last !== null);
  // What was not replaced was changed meanwhile, and then by the newest key; unless that is not in force any more.
  if (inForce !== newest.id || (await store.keyInForce()) !== newest.id) {
    throw new Error(
      "Another rotation has begun elsewhere, with another key. Give both the same keys, and run this again.",
    );
  }
  return { keyId: newest.id, ...counts, unreadable };
}

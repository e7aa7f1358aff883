// Rotates the master key while servers run. Each step leaves a working state from which the same command
// resumes:
//
// 1. The new key is added to the file before the old ones, so that every server can open secrets sealed by
//    it.
// 2. The store accepts new secrets under the new key only; a server without it learns of it when it seals.
// 3. All secrets are resealed, batch by batch.
// 4. The old keys are removed from the file: nothing is sealed by them, and nothing can be any more.

import { formatMasterKey } from "../../core/secrets.ts";
import type { SealedSecret, SecretStore } from "../../core/ports/driven/secret-store.ts";
import type { KeyFile } from "./key-file.ts";
import { newMasterKey, createMasterKey, type MasterKey, type SecretPlace } from "./master-key.ts";

/** Number of secrets that are resealed concurrently, so that the store can commit them together. */
const BATCH_SIZE = 100;

export interface RotationOptions {
  readonly store: SecretStore;
  /** Removes secrets that no key opens, instead of reporting them and keeping their keys. */
  readonly discardUnreadable: boolean;
}

export type Rotation =
  /**
   * One key seals all secrets. `resumed`: this finished an earlier rotation. `fromOperator`: the keys are in the
   * environment, and the operator can now remove the older ones.
   */
  | {
      readonly outcome: "done";
      readonly keyId: string;
      readonly resealed: number;
      readonly discarded: number;
      readonly resumed: boolean;
      readonly fromOperator: boolean;
    }
  /** Some secrets were modified or moved in the store and cannot be opened. The old keys are kept. */
  | {
      readonly outcome: "unreadable";
      readonly keyId: string;
      readonly resealed: number;
      readonly unreadable: readonly SecretPlace[];
    }
  /** There is no key and no secret. */
  | { readonly outcome: "no_key" }
  /**
   * The operator provides the keys: `secretKey` is the value to set next, a new key before the current one.
   */
  | { readonly outcome: "key_needed"; readonly secretKey: string };

/** Rotates a key in a file. Only one process may do this at a time. Rejects with a readable error. */
export async function rotateKeyInFile(file: KeyFile, options: RotationOptions): Promise<Rotation> {
  const { store } = options;
  const before = await file.read();
  await assertAllKeysPresent(before.map(createMasterKey), `the file ${file.path}`, options);
  const resumed = before.length > 1;
  if (before.length === 0) {
    if (Object.keys(await store.countByKey()).length === 0) return { outcome: "no_key" };
    await file.create(newMasterKey());
  } else if (!resumed) {
    await file.replace([newMasterKey(), ...before]);
  }
  const keys = await file.read();
  const result = await resealAll(keys.map(createMasterKey), options);
  if (result.unreadable.length > 0) return { outcome: "unreadable", ...result };
  await file.replace(keys.slice(0, 1));
  const { keyId, resealed, discarded } = result;
  return { outcome: "done", keyId, resealed, discarded, resumed, fromOperator: false };
}

/** Activates the first of the operator's keys. Rejects with a user-facing error. */
export async function rotateOperatorKeys(
  secretKeys: readonly Uint8Array[],
  options: RotationOptions,
): Promise<Rotation> {
  const keys = secretKeys.map(createMasterKey);
  await assertAllKeysPresent(keys, "COLLOQUY_SECRET_KEY", options);
  const [first] = keys;
  const inForce = await options.store.keyInForce();
  if (keys.length === 1 && (inForce === null || inForce === first?.id)) {
    return {
      outcome: "key_needed",
      secretKey: [newMasterKey(), ...secretKeys].map(formatMasterKey).join(","),
    };
  }
  const result = await resealAll(keys, options);
  if (result.unreadable.length > 0) return { outcome: "unreadable", ...result };
  const { keyId, resealed, discarded } = result;
  return { outcome: "done", keyId, resealed, discarded, resumed: inForce === first?.id, fromOperator: true };
}

/** Rejects if a missing key seals secrets, because the operator may still have it. */
async function assertAllKeysPresent(
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
      "Put that key back, behind the newer ones, and run this again. If it is lost for good, --discard-unreadable removes the secrets that it has sealed.",
  );
}

interface ResealResult {
  readonly keyId: string;
  readonly resealed: number;
  readonly discarded: number;
  readonly unreadable: readonly SecretPlace[];
}

/** `keys`: newest first. */
async function resealAll(
  keys: readonly MasterKey[],
  { store, discardUnreadable }: RotationOptions,
): Promise<ResealResult> {
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
    const batch: readonly SealedSecret[] = await store.sealedByOthers(newest.id, last, BATCH_SIZE);
    await Promise.all(batch.map(handle));
    last = batch.at(-1) ?? null;
  } while (last !== null);
  // A secret that was not replaced was set again in the meantime with the newest key, unless that key is no
  // longer in force.
  if (inForce !== newest.id || (await store.keyInForce()) !== newest.id) {
    throw new Error(
      "Another rotation with a different key has started. Provide the same keys to both, and run this command again.",
    );
  }
  return { keyId: newest.id, ...counts, unreadable };
}

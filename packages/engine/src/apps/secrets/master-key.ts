// Seals secrets, bound to their App, client and name, so that a row that was moved or modified in the store
// cannot be opened.

import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from "node:crypto";
import type { KeyFile } from "./key-file.ts";

const CIPHER = "aes-256-gcm";
/**
 * 96 random bits: collisions are negligible for far less than 2^32 values per key (NIST SP 800-38D section
 * 8.3).
 */
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** The identity of a secret, which its sealed value is bound to. */
export interface SecretPlace {
  readonly app: string;
  readonly clientId: string;
  readonly name: string;
}

export interface MasterKey {
  /** Identifies the key without revealing anything about it. */
  readonly id: string;
  /** Returns nonce, ciphertext and tag in base64. */
  seal(place: SecretPlace, value: string): string;
  /** Returns the value, or `null` unless this key has sealed exactly this text for this identity. */
  open(place: SecretPlace, sealed: string): string | null;
  /** Derives a 32-byte key for another purpose with HKDF (RFC 5869). Derived keys do not reveal the master key. */
  derive(purpose: string): Uint8Array;
}

/** `bytes` has 32 bytes. They stay in a closure, so that printing the key cannot expose them. */
export function createMasterKey(bytes: Uint8Array): MasterKey {
  const id = createHmac("sha256", bytes).update("colloquy master key id").digest("hex").slice(0, 16);
  const derive = (purpose: string): Buffer => Buffer.from(hkdfSync("sha256", bytes, "", purpose, 32));
  const key = derive("colloquy secrets aes-256-gcm");
  return {
    id,
    seal(place, value) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
      cipher.setAAD(boundTo(place));
      const text = Buffer.concat([cipher.update(value, "utf8"), cipher.final()]);
      return Buffer.concat([nonce, text, cipher.getAuthTag()]).toString("base64");
    },
    open(place, sealed) {
      const bytes = Buffer.from(sealed, "base64");
      if (bytes.length < NONCE_BYTES + TAG_BYTES) return null;
      const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES), {
        authTagLength: TAG_BYTES,
      });
      decipher.setAAD(boundTo(place));
      decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
      try {
        const text = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES));
        return Buffer.concat([text, decipher.final()]).toString("utf8");
      } catch {
        return null;
      }
    },
    derive,
  };
}

/** Returns the additional authenticated data. Length prefixes make it unambiguous. */
function boundTo({ app, clientId, name }: SecretPlace): Buffer {
  const parts = [app, clientId, name].flatMap((part) => {
    const bytes = Buffer.from(part, "utf8");
    const length = Buffer.alloc(4);
    length.writeUInt32BE(bytes.length);
    return [length, bytes];
  });
  return Buffer.concat(parts);
}

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
export function operatorKeys(keys: readonly Uint8Array[], place: string): KeyRing {
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

// A master key at work: it seals values for one place alone, so that a row that was moved or changed in the store cannot be opened.

import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from "node:crypto";

const CIPHER = "aes-256-gcm";
/** 96 random bits: with far less than 2 to the 32nd values under one key, none comes twice (NIST SP 800-38D section 8.3). */
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Where a value belongs. */
export interface SecretPlace {
  readonly app: string;
  readonly clientId: string;
  readonly name: string;
}

export interface MasterKey {
  /** Tells keys apart, and says nothing of them. */
  readonly id: string;
  /** Nonce, ciphertext and tag, base64. */
  seal(place: SecretPlace, value: string): string;
  /** The value; `null` when this key has not sealed exactly this for exactly this place. */
  open(place: SecretPlace, sealed: string): string | null;
}

/** `bytes`: 32 of them. They stay in a closure, where nothing that prints the key reaches them. */
export function createMasterKey(bytes: Uint8Array): MasterKey {
  const id = createHmac("sha256", bytes).update("colloquy master key id").digest("hex").slice(0, 16);
  // Not the key itself: what it may be used for later gets keys of its own.
  const key = Buffer.from(hkdfSync("sha256", bytes, "", "colloquy secrets aes-256-gcm", 32));
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
  };
}

/** What the value is bound to. Each part has its length before it, so that no two places come to the same bytes. */
function boundTo({ app, clientId, name }: SecretPlace): Buffer {
  const parts = [app, clientId, name].flatMap((part) => {
    const bytes = Buffer.from(part, "utf8");
    const length = Buffer.alloc(4);
    length.writeUInt32BE(bytes.length);
    return [length, bytes];
  });
  return Buffer.concat(parts);
}

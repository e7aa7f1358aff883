// The cipher of session handles. An id is one AES block, so that one block suffices: a guessed handle decrypts to a random
// id, which no session has.

import { createCipheriv, createDecipheriv } from "node:crypto";
import { SessionHandles } from "../core/session-handles.ts";

export const HANDLE_KEY_BYTES = 32;

const ONE_BLOCK = "aes-256-ecb";

export function createHandles(key: Uint8Array): SessionHandles {
  return new SessionHandles({
    encrypt: (hex) =>
      createCipheriv(ONE_BLOCK, key, null).setAutoPadding(false).update(hex, "hex").toString("base64url"),
    decrypt: (text) =>
      createDecipheriv(ONE_BLOCK, key, null).setAutoPadding(false).update(text, "base64url").toString("hex"),
  });
}

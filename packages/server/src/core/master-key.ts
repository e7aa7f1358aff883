// The text of the keys that seal secrets (contract section 4), as `COLLOQUY_SECRET_KEY` and the key file have it.

/** Bytes of a key of AES-256. */
const KEY_BYTES = 32;

export type ParsedMasterKeys =
  | { readonly keys: readonly Uint8Array[] }
  /** What is wrong, to stand behind the name of where the text is from. Never holds a part of the text. */
  | { readonly problem: string };

/**
 * Reads keys of 32 bytes, each in base64 (either alphabet, padded or not) or hexadecimal, newest first, with commas or white space between
 * them. None for a text with nothing in it.
 */
export function parseMasterKeys(text: string): ParsedMasterKeys {
  const parts = text.split(/[\s,]+/).filter((part) => part !== "");
  const keys: Uint8Array[] = [];
  for (const [index, part] of parts.entries()) {
    const key = parseKey(part);
    const which = parts.length === 1 ? "" : ` Key ${index + 1} of ${parts.length} is none.`;
    if (key === null) return { problem: `${EXPECTED}${which} ${ADVICE}` };
    if (key.every((byte) => byte === key[0])) {
      return { problem: `must hold random keys, and one byte repeated is not random.${which} ${ADVICE}` };
    }
    if (keys.some((other) => other.toHex() === key.toHex())) {
      return { problem: "must not hold the same key twice." };
    }
    keys.push(key);
  }
  return { keys };
}

const EXPECTED =
  "must be a key of 32 bytes in base64 or hexadecimal, or several of them, newest first, with commas between them.";
const ADVICE = "To make one: openssl rand -base64 32";

function parseKey(text: string): Uint8Array | null {
  try {
    const key = /^[0-9a-f]{64}$/i.test(text)
      ? Uint8Array.fromHex(text)
      : Uint8Array.fromBase64(text.replaceAll("-", "+").replaceAll("_", "/"));
    return key.length === KEY_BYTES ? key : null;
  } catch {
    return null;
  }
}

/** A key as `parseMasterKeys` reads it. */
export function formatMasterKey(key: Uint8Array): string {
  return key.toBase64();
}

// Checks secrets that clients send, and parses the master keys of `COLLOQUY_SECRET_KEY` and the key file
// (contract section 4).

import type { SecretSlot } from "@colloquy/protocol";
import { InvalidRequest } from "./errors.ts";
import type { JsonObject } from "./json.ts";

/** The 32 bytes of an AES-256 key. */
const HEXADECIMAL = /^[0-9a-f]{64}$/i;
const BASE64 = /^[A-Za-z0-9+/_-]{43}=?$/;

export type ParsedMasterKeys =
  | { readonly keys: readonly Uint8Array[] }
  /** Problem that completes a sentence starting with the origin of the text. Never contains the text. */
  | { readonly problem: string };

/**
 * Parses 32-byte keys in base64 (either alphabet, padded or not) or hexadecimal, newest first, separated by
 * commas or white space. Returns none for a blank text.
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
    if (keys.some((other) => key.equals(other))) {
      return { problem: "must not hold the same key twice." };
    }
    keys.push(key);
  }
  return { keys };
}

const EXPECTED =
  "must be a key of 32 bytes in base64 or hexadecimal, or several of them, newest first, with commas between them.";
const ADVICE = "To make one: openssl rand -base64 32";

function parseKey(text: string): Buffer | null {
  if (HEXADECIMAL.test(text)) return Buffer.from(text, "hex");
  // Accepts either alphabet.
  return BASE64.test(text) ? Buffer.from(text, "base64") : null;
}

/** Formats a key for `parseMasterKeys`. */
export function formatMasterKey(key: Uint8Array): string {
  return Buffer.from(key).toString("base64");
}

/** Maximum length of a secret in UTF-16 units, enough for any key or certificate on one line. */
export const SECRET_MAX = 8_192;

/**
 * Checks the values that a client sends for an App's slots (contract section 4). Errors name only slots of the App, so that a value
 * sent as a name is never echoed.
 *
 * @throws InvalidRequest for a slot that the App does not declare, and for a value that is not 1 to 8,192 characters without control
 *   characters
 */
export function readSecretValues(
  app: string,
  slots: readonly SecretSlot[],
  sent: JsonObject,
): Readonly<Record<string, string>> {
  const names = Object.keys(sent);
  const declared = new Set(slots.map(({ name }) => name));
  if (names.some((name) => !declared.has(name))) {
    const offer = declared.size === 0 ? "It declares none." : `It declares: ${[...declared].join(", ")}.`;
    const detail = `The body names a slot for secrets that the App ${app} does not declare. ${offer}`;
    throw new InvalidRequest("secret_slot_unknown", detail);
  }
  return Object.fromEntries(
    Object.entries(sent).map(([name, value]) => {
      if (typeof value === "string" && isSecretValue(value)) return [name, value];
      const rule = `must be a string of 1 to ${SECRET_MAX} characters without control characters`;
      throw new InvalidRequest("parameter_invalid", `The body field "${name}" ${rule}.`);
    }),
  );
}

function isSecretValue(value: string): boolean {
  return value.length >= 1 && value.length <= SECRET_MAX && !/\p{Cc}/u.test(value);
}

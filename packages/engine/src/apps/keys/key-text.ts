// The text format of an App key: `clq_<id>_<secret>` (contract section 4). The prefix lets secret scanners
// find it; the checksum at the end of the secret lets a typing error be rejected without a store lookup.

import { createHash, randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/** Bytes from here on are rejected: they would make the first characters of the alphabet more likely. */
const UNBIASED = 256 - (256 % ALPHABET.length);
const ID_LENGTH = 16;
/** 30 characters out of 62 are 178 random bits. */
const RANDOM_LENGTH = 30;
/** 62^6 > 2^32: room for a CRC-32, which detects every wrong or swapped character. */
const CHECKSUM_LENGTH = 6;
const KEY = new RegExp(
  `^clq_(?<id>[0-9A-Za-z]{${ID_LENGTH}})_(?<secret>[0-9A-Za-z]{${RANDOM_LENGTH + CHECKSUM_LENGTH}})$`,
);

export interface KeyParts {
  /** Public id, which names the key in lists and commands. */
  readonly id: string;
  readonly secret: string;
}

/** Returns the parts of a new, unique key. */
export function newKey(): KeyParts {
  const id = randomText(ID_LENGTH);
  const random = randomText(RANDOM_LENGTH);
  return { id, secret: random + checksum(id, random) };
}

export function formatKey({ id, secret }: KeyParts): string {
  return `clq_${id}_${secret}`;
}

/** Parses a key; returns `null` if it is malformed or mistyped. */
export function parseKey(text: string): KeyParts | null {
  const { id, secret } = KEY.exec(text)?.groups ?? {};
  if (id === undefined || secret === undefined) return null;
  return checksum(id, secret.slice(0, RANDOM_LENGTH)) === secret.slice(RANDOM_LENGTH) ? { id, secret } : null;
}

/** SHA-256. No slow hash is needed, because the secret is random. */
export function digestSecret(secret: string): Buffer {
  return createHash("sha256").update(secret).digest();
}

function randomText(length: number): string {
  let text = "";
  while (text.length < length) {
    for (const byte of randomBytes(length - text.length)) {
      if (byte < UNBIASED) text += ALPHABET[byte % ALPHABET.length];
    }
  }
  return text;
}

function checksum(id: string, random: string): string {
  let rest = crc32(`${id}_${random}`);
  let text = "";
  for (let index = 0; index < CHECKSUM_LENGTH; index += 1) {
    text = `${ALPHABET[rest % ALPHABET.length]}${text}`;
    rest = Math.floor(rest / ALPHABET.length);
  }
  return text;
}

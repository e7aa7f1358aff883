// How an App key is written: `clq_<id>_<secret>` (contract section 4). The prefix lets scanners of repositories and logs find it; the
// checksum at the end of the secret lets a typing error be refused without a look into the store.

import { createHash, randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/** Bytes from here on would make the first characters of the alphabet likelier than the others. */
const UNBIASED = 256 - (256 % ALPHABET.length);
const ID_LENGTH = 16;
/** 30 characters of 62 are 178 random bits. */
const RANDOM_LENGTH = 30;
/** 62 to the sixth is more than two to the 32nd: room for a CRC-32, which finds every wrong or exchanged character. */
const CHECKSUM_LENGTH = 6;
const KEY = new RegExp(
  `^clq_(?<id>[0-9A-Za-z]{${ID_LENGTH}})_(?<secret>[0-9A-Za-z]{${RANDOM_LENGTH + CHECKSUM_LENGTH}})$`,
);

export interface KeyParts {
  /** May be shown: it names the key in lists and commands. */
  readonly id: string;
  readonly secret: string;
}

/** The parts of a new key, nobody's before. */
export function newKey(): KeyParts {
  const id = randomText(ID_LENGTH);
  const random = randomText(RANDOM_LENGTH);
  return { id, secret: random + checksum(id, random) };
}

export function formatKey({ id, secret }: KeyParts): string {
  return `clq_${id}_${secret}`;
}

/** The parts of a key as it was sent, `null` when it is none or was not typed right. */
export function parseKey(text: string): KeyParts | null {
  const { id, secret } = KEY.exec(text)?.groups ?? {};
  if (id === undefined || secret === undefined) return null;
  return checksum(id, secret.slice(0, RANDOM_LENGTH)) === secret.slice(RANDOM_LENGTH) ? { id, secret } : null;
}

/** SHA-256. The secret is random, so nothing slower than that is needed. */
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

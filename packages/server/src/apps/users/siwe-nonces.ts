// Nonces of sign-ins (EIP-4361). They are signed instead of stored, so that issuing one writes nothing; the
// store records only used ones.

import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { Clock } from "../../core/ports/driven/clock.ts";
import type { SigningKeys } from "../../core/ports/driven/secret-store.ts";

const PURPOSE = "colloquy siwe nonces hmac-sha256";
const LIFETIME_MS = 5 * 60_000;
/** Hexadecimal digits: time of expiry, random bytes, and the signature of both. */
const NONCE = /^([0-9a-f]{12})[0-9a-f]{16}([0-9a-f]{32})$/;

export async function newNonce(keys: SigningKeys, clock: Pick<Clock, "now">): Promise<string> {
  const expiresAt = (clock.now() + LIFETIME_MS).toString(16).padStart(12, "0");
  const text = expiresAt + randomBytes(8).toString("hex");
  return text + (await signatureOf(text, keys));
}

/** Returns when the nonce expires, in milliseconds since the Unix epoch; `null` if this service did not issue it. */
export async function expiryOfNonce(nonce: string, keys: SigningKeys): Promise<number | null> {
  const [, expiresAt, signature] = NONCE.exec(nonce) ?? [];
  if (expiresAt === undefined || signature === undefined) return null;
  const expected = await signatureOf(nonce.slice(0, -signature.length), keys);
  const isGenuine = timingSafeEqual(Buffer.from(expected), Buffer.from(signature));
  return isGenuine ? Number.parseInt(expiresAt, 16) : null;
}

async function signatureOf(text: string, keys: SigningKeys): Promise<string> {
  const key = await keys.current();
  return createHmac("sha256", key.derive(PURPOSE)).update(text).digest("hex").slice(0, 32);
}

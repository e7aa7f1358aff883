// Invalid tokens of every kind, with the code of their 401.

import { createHmac } from "node:crypto";
import { exportSPKI, generateKeyPair, importJWK, SignJWT, type CryptoKey, type JWTPayload } from "jose";
import type { Issuer } from "./issuer.ts";

/** Issuer and audience of a valid token. */
export interface TokenTarget {
  readonly issuer: Issuer;
  readonly audience: string;
}

const now = () => Math.floor(Date.now() / 1000);

/** Returns the claims of a valid token, with changes. */
export function claimsFor(
  { issuer, audience }: TokenTarget,
  changes: Readonly<Record<string, unknown>> = {},
): JWTPayload {
  return { iss: issuer.url, aud: audience, sub: "alice", exp: now() + 3600, ...changes };
}

const signed =
  (changes: () => Readonly<Record<string, unknown>>, header = {}) =>
  (target: TokenTarget) =>
    target.issuer.sign(claimsFor(target, changes()), header);

export const BAD_TOKENS: readonly (readonly [
  what: string,
  code: string,
  token: (target: TokenTarget) => Promise<string> | string,
])[] = [
  ["no JWT", "token_malformed", () => "nonsense"],
  ["a JWT without claims", "token_malformed", () => "a.b.c"],
  ["a long one", "token_too_long", () => "x".repeat(16 * 1024 + 1)],
  ["another issuer", "token_issuer_unknown", signed(() => ({ iss: "https://other.test" }))],
  ["no issuer", "token_issuer_unknown", signed(() => ({ iss: undefined }))],
  ["another audience", "token_audience_wrong", signed(() => ({ aud: ["https://games.test"] }))],
  ["no audience", "token_audience_wrong", signed(() => ({ aud: undefined }))],
  ["an expired one", "token_expired", signed(() => ({ exp: now() - 1 }))],
  ["one of the future", "token_not_yet_valid", signed(() => ({ nbf: now() + 60 }))],
  ["no expiry", "token_claim_missing", signed(() => ({ exp: undefined }))],
  ["no subject", "token_claim_missing", signed(() => ({ sub: undefined }))],
  ["an empty subject", "token_claim_missing", signed(() => ({ sub: "" }))],
  ["an unknown key id", "token_key_unknown", signed(() => ({}), { kid: "other" })],
  ["a signature by another key", "token_signature_wrong", forged],
  ["changed claims", "token_signature_wrong", changed],
  ["no signature", "token_algorithm_refused", unsigned],
  ["the public key as a shared secret", "token_algorithm_refused", confused],
];

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");

async function forged(target: TokenTarget): Promise<string> {
  const { privateKey } = await generateKeyPair("ES256");
  const kid = target.issuer.publicKey.kid ?? "";
  return await new SignJWT(claimsFor(target)).setProtectedHeader({ alg: "ES256", kid }).sign(privateKey);
}

async function changed(target: TokenTarget): Promise<string> {
  const [header, , signature] = (await target.issuer.sign(claimsFor(target))).split(".");
  return [header, part(claimsFor(target, { sub: "bob" })), signature].join(".");
}

function unsigned(target: TokenTarget): string {
  return `${part({ alg: "none", typ: "JWT" })}.${part(claimsFor(target))}.`;
}

async function confused(target: TokenTarget): Promise<string> {
  const { publicKey } = target.issuer;
  const text = `${part({ alg: "HS256", kid: publicKey.kid })}.${part(claimsFor(target))}`;
  const secret = await exportSPKI((await importJWK({ ...publicKey, alg: "ES256" })) as CryptoKey);
  return `${text}.${createHmac("sha256", secret).update(text).digest("base64url")}`;
}

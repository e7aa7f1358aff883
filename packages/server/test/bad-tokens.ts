// Tokens of every kind that no App accepts, with the code of their 401.

import { createHmac } from "node:crypto";
import { exportSPKI, generateKeyPair, importJWK, SignJWT, type CryptoKey, type JWTPayload } from "jose";
import type { Issuer } from "./issuer.ts";

/** What a good token would be for. */
export interface Aim {
  readonly issuer: Issuer;
  readonly audience: string;
}

const now = () => Math.floor(Date.now() / 1000);

/** Returns the claims of a good token, with changes. */
export function claimsFor(
  { issuer, audience }: Aim,
  changes: Readonly<Record<string, unknown>> = {},
): JWTPayload {
  return { iss: issuer.url, aud: audience, sub: "alice", exp: now() + 3600, ...changes };
}

const signed =
  (changes: () => Readonly<Record<string, unknown>>, header = {}) =>
  (aim: Aim) =>
    aim.issuer.sign(claimsFor(aim, changes()), header);

export const BAD_TOKENS: readonly (readonly [
  what: string,
  code: string,
  token: (aim: Aim) => Promise<string> | string,
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

async function forged(aim: Aim): Promise<string> {
  const { privateKey } = await generateKeyPair("ES256");
  const kid = aim.issuer.publicKey.kid ?? "";
  return await new SignJWT(claimsFor(aim)).setProtectedHeader({ alg: "ES256", kid }).sign(privateKey);
}

async function changed(aim: Aim): Promise<string> {
  const [header, , signature] = (await aim.issuer.sign(claimsFor(aim))).split(".");
  return [header, part(claimsFor(aim, { sub: "bob" })), signature].join(".");
}

function unsigned(aim: Aim): string {
  return `${part({ alg: "none", typ: "JWT" })}.${part(claimsFor(aim))}.`;
}

async function confused(aim: Aim): Promise<string> {
  const { publicKey } = aim.issuer;
  const text = `${part({ alg: "HS256", kid: publicKey.kid })}.${part(claimsFor(aim))}`;
  const secret = await exportSPKI((await importJWK({ ...publicKey, alg: "ES256" })) as CryptoKey);
  return `${text}.${createHmac("sha256", secret).update(text).digest("base64url")}`;
}

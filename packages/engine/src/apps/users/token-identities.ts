// Ids of tokens for revocations.

import { createHash } from "node:crypto";
import { decodeProtectedHeader, type JWTPayload } from "jose";

/** Orders of the curves (SEC 2 sections 2.4.2, 2.5.1 and 2.6.1). */
const ORDERS: Readonly<Record<string, bigint>> = {
  ES256: 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n,
  ES384: 0xffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973n,
  ES512:
    0x01fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffa51868783bf2f966b7fcc0148f709a5d03bb5c9b8899c47aebb6fb71e91386409n,
};

/**
 * Returns the ids of a verified token; to revoke it, all are stored. A token without `jti` is identified by what its
 * signature covers: anybody can write the signature in other ways.
 */
export function identitiesOf(
  token: string,
  { iss, jti }: JWTPayload,
): readonly [first: string, ...others: string[]] {
  if (jti !== undefined && jti !== null && jti !== "") return [digestOf([iss ?? "", jti])];
  const input = token.slice(0, token.lastIndexOf("."));
  // Earlier versions used the whole text, in revocations and in tokens of wallets that still hold.
  return [digestOf([input]), digestOf([token]), ...otherSignature(token).map((other) => digestOf([other]))];
}

export function digestOf(parts: readonly string[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("base64url");
}

/** Returns the token with the other signature that ECDSA accepts: (r, n - s) for (r, s). */
function otherSignature(token: string): readonly string[] {
  const order = ORDERS[decodeProtectedHeader(token).alg ?? ""];
  if (order === undefined) return [];
  const at = token.lastIndexOf(".") + 1;
  const signature = Buffer.from(token.slice(at), "base64url");
  const half = signature.length / 2;
  const s = BigInt(`0x${signature.subarray(half).toString("hex")}`);
  const other = (order - s).toString(16).padStart(half * 2, "0");
  const text = Buffer.concat([signature.subarray(0, half), Buffer.from(other, "hex")]).toString("base64url");
  return [`${token.slice(0, at)}${text}`];
}

// The 401 errors for invalid tokens (RFC 6750 section 3.1). Messages never quote the token.

import { errors } from "jose";
import { ServiceError } from "../../core/errors.ts";

const DETAILS = {
  token_too_long: "The token is longer than 16 KiB. Ask the issuer for a smaller one.",
  token_malformed: "The token is not a signed JWT. Send the issuer's token unchanged.",
  token_algorithm_refused:
    "The token is signed with an algorithm that is not accepted. Use RS256, PS256, ES256 or EdDSA.",
  token_issuer_unknown: "No App accepts tokens of this issuer. Sign in with the issuer of the App.",
  token_audience_wrong: "The token is for another audience. Ask the issuer for a token for this App.",
  token_claim_missing: "The token lacks `exp` or `sub`, or one of its claims has the wrong type.",
  token_expired: "The token has expired. Get a new one and send the request again.",
  token_not_yet_valid: "The token is not valid yet. Check the clock of its issuer.",
  token_key_unknown: "The issuer has no usable key for the token. Sign in again.",
  token_signature_wrong: "The token's signature is invalid. Send the issuer's token unchanged.",
  token_revoked: "The token was revoked. Sign in again.",
} as const;
export type TokenProblem = keyof typeof DETAILS;

export function refusedToken(code: TokenProblem): ServiceError {
  return new ServiceError(401, code, DETAILS[code], {
    headers: { "www-authenticate": `Bearer realm="colloquy", error="invalid_token"` },
  });
}

/** Returns the problem of the token; `null` if the error has another cause. */
export function problemOf(error: unknown): TokenProblem | null {
  if (error instanceof errors.JWTExpired) return "token_expired";
  if (error instanceof errors.JWTClaimValidationFailed) return ofClaim(error.claim);
  if (error instanceof errors.JOSEAlgNotAllowed || error instanceof errors.JOSENotSupported)
    return "token_algorithm_refused";
  if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys)
    return "token_key_unknown";
  if (error instanceof errors.JWSSignatureVerificationFailed) return "token_signature_wrong";
  const isMalformed = error instanceof errors.JWSInvalid || error instanceof errors.JWTInvalid;
  return isMalformed ? "token_malformed" : null;
}

function ofClaim(claim: string): TokenProblem {
  if (claim === "nbf") return "token_not_yet_valid";
  if (claim === "iss") return "token_issuer_unknown";
  return claim === "aud" ? "token_audience_wrong" : "token_claim_missing";
}

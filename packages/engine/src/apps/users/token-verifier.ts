// Verifies tokens (JWT, RFC 7519) with the keys of their issuers.

import {
  decodeProtectedHeader,
  errors,
  type JWTPayload,
  jwtVerify,
  type JWTVerifyOptions,
  type ProtectedHeaderParameters,
} from "jose";
import type { TokenIssuer } from "../../core/app-settings.ts";
import type { Clock } from "../../core/ports/driven/clock.ts";
import type { Logger } from "../../core/ports/driven/logger.ts";
import { KeySources, type KeySource, type TokenKeys } from "./issuer-keys.ts";
import { problemOf, type TokenProblem } from "./token-refusals.ts";

/** Maximum token length in characters. */
const TOKEN_MAX = 16 * 1024;
/** Asymmetric algorithms only (RFC 8725 section 3.1): with a shared secret, anyone who can verify a token can forge one. */
const ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"];

/**
 * Returns why a text cannot be a token; `null` if it can. Only canonical base64url is accepted (RFC 4648 sections 3.2
 * and 3.5): with padding, other alphabets or unused bits, the same token could be written in many ways.
 */
export function problemOfText(token: string): TokenProblem | null {
  if (token.length > TOKEN_MAX) return "token_too_long";
  const parts = token.split(".");
  const isCanonical = (part: string): boolean =>
    Buffer.from(part, "base64url").toString("base64url") === part;
  return parts.length === 3 && parts.every(isCanonical) ? null : "token_malformed";
}

export interface TokenVerifierOptions {
  readonly clock: Pick<Clock, "now" | "monotonic">;
  readonly logger: Pick<Logger, "warn">;
}

export class TokenVerifier {
  readonly #clock: Pick<Clock, "now">;
  readonly #sources: KeySources;

  constructor(options: TokenVerifierOptions) {
    this.#clock = options.clock;
    this.#sources = new KeySources(options);
  }

  /** Returns where the issuer's keys come from. Equal settings share one source. */
  sourceOf(issuer: TokenIssuer): KeySource {
    return this.#sources.of(issuer);
  }

  /**
   * Returns the claims of a valid token of this issuer and audience, or why it is invalid.
   * @throws Unavailable 503 if the issuer's keys cannot be read
   */
  async verify(token: string, issuer: TokenIssuer): Promise<JWTPayload | TokenProblem> {
    const unreadable = problemOfText(token);
    if (unreadable !== null) return unreadable;
    const header = headerOf(token);
    if (header === null) return "token_malformed";
    // Before the keys, which may have to be read.
    if (header.alg !== undefined && !ALGORITHMS.includes(header.alg)) return "token_algorithm_refused";
    const source = this.sourceOf(issuer);
    const keys = await source.current();
    const checks = {
      issuer: issuer.issuer,
      audience: issuer.audience,
      algorithms: ALGORITHMS,
      requiredClaims: ["exp", "sub"],
      currentDate: new Date(this.#clock.now()),
    };
    const result = await verifyWith(keys, token, checks);
    const isWithoutKey =
      result === "token_key_unknown" || (result === "token_signature_wrong" && header.kid === undefined);
    if (!isWithoutKey) return result;
    // The issuer may have a new key.
    const newer = await source.newerThan(keys);
    return newer === keys ? result : await verifyWith(newer, token, checks);
  }
}

function headerOf(token: string): ProtectedHeaderParameters | null {
  try {
    return decodeProtectedHeader(token);
  } catch {
    return null;
  }
}

async function verifyWith(
  keys: TokenKeys,
  token: string,
  checks: JWTVerifyOptions,
): Promise<JWTPayload | TokenProblem> {
  try {
    const { payload } = await verifyWithEach(keys, token, checks);
    return typeof payload.sub === "string" && payload.sub !== "" ? payload : "token_claim_missing";
  } catch (error) {
    // Other errors are those of a key that cannot be used, such as a short one.
    return problemOf(error) ?? "token_key_unknown";
  }
}

/** Tries each key that suits the token's header, because the header need not name one (RFC 7515 section 4.1.4). */
async function verifyWithEach(keys: TokenKeys, token: string, checks: JWTVerifyOptions) {
  try {
    return await jwtVerify(token, keys, checks);
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
    for await (const key of error) {
      try {
        return await jwtVerify(token, key, checks);
      } catch (failure) {
        if (isOfClaims(failure)) throw failure;
      }
    }
    throw new errors.JWSSignatureVerificationFailed();
  }
}

/** Returns true for an error of a token whose signature is right. */
function isOfClaims(error: unknown): boolean {
  return (
    error instanceof errors.JWTClaimValidationFailed ||
    error instanceof errors.JWTExpired ||
    error instanceof errors.JWTInvalid
  );
}

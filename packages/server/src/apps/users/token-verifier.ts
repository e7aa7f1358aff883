import { jwtVerify, type JWTPayload } from "jose";
import type { TokenIssuer } from "../../core/app-settings.ts";
import { Unavailable } from "../../core/errors.ts";
import type { Clock } from "../../core/ports/driven/clock.ts";
import type { Logger } from "../../core/ports/driven/logger.ts";
import { createTokenKeys, type TokenKeys } from "./token-keys.ts";
import { problemOf, type TokenProblem } from "./token-refusals.ts";

/** Maximum token length in characters. */
export const TOKEN_MAX = 16 * 1024;
/** Asymmetric algorithms only (RFC 8725 section 3.1): with a shared secret, anyone who can verify a token can forge one. */
const ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"];
const RETRY_SECONDS = 5;

export interface TokenVerifierOptions {
  readonly clock: Pick<Clock, "now" | "monotonic">;
  readonly logger: Pick<Logger, "warn">;
}

/** Verifies tokens (JWT, RFC 7519) with the keys of their issuers. */
export class TokenVerifier {
  readonly #options: TokenVerifierOptions;
  /** Keys by issuer settings. A reload creates new settings objects, and so drops the old keys. */
  readonly #keys = new WeakMap<TokenIssuer, TokenKeys>();

  constructor(options: TokenVerifierOptions) {
    this.#options = options;
  }

  /**
   * Returns the claims of a valid token of this issuer and audience, or why it is invalid.
   * @throws Unavailable 503 if the issuer's keys cannot be read
   */
  async verify(token: string, issuer: TokenIssuer): Promise<JWTPayload | TokenProblem> {
    const { clock, logger } = this.#options;
    if (token.length > TOKEN_MAX) return "token_too_long";
    let keys = this.#keys.get(issuer);
    if (keys === undefined) {
      keys = createTokenKeys(issuer, { clock, logger });
      this.#keys.set(issuer, keys);
    }
    try {
      const { payload } = await jwtVerify(token, keys, {
        issuer: issuer.issuer,
        audience: issuer.audience,
        algorithms: ALGORITHMS,
        requiredClaims: ["exp", "sub"],
        currentDate: new Date(clock.now()),
      });
      return typeof payload.sub === "string" && payload.sub !== "" ? payload : "token_claim_missing";
    } catch (error) {
      const problem = problemOf(error);
      if (problem !== null) return problem;
      const detail = "The sign-in cannot be checked at the moment, because its issuer cannot be reached.";
      throw new Unavailable(503, "issuer_unavailable", detail, RETRY_SECONDS, error);
    }
  }
}

import type { JWTPayload } from "jose";
import type { OperatorSettings } from "../../core/app-settings.ts";
import { ServiceError } from "../../core/errors.ts";
import type { Operator } from "../../core/ports/driving/credentials.ts";
import { hasClaim } from "./token-claims.ts";
import { refusedToken } from "./token-refusals.ts";
import { TokenVerifier, type TokenVerifierOptions } from "./token-verifier.ts";

/** Claims with the name of a person, in order of preference (OpenID Connect Core 1.0 section 5.1). */
const NAME_CLAIMS = ["email", "preferred_username", "name", "sub"];

export type OperatorTokens = NonNullable<ReturnType<typeof operatorTokens>>;

/** Returns the check of operators' tokens; `null` without `operators` in the configuration. */
export function operatorTokens(settings: OperatorSettings | null, options: TokenVerifierOptions) {
  if (settings === null) return null;
  const verifier = new TokenVerifier(options);
  return {
    /**
     * Returns the operator, or the 401 for an invalid token or 403 for a user who is not an operator. Rejects
     * with `Unavailable` if its keys cannot be read.
     */
    async check(token: string): Promise<Operator | ServiceError> {
      const payload = await verifier.verify(token, settings);
      if (typeof payload === "string") return refusedToken(payload);
      return hasClaim(payload, settings)
        ? { subject: payload.sub ?? "", name: nameOf(payload) }
        : notAnOperator(settings.claim);
    },
  };
}

function nameOf(payload: JWTPayload): string {
  const names = NAME_CLAIMS.map((claim) => payload[claim]);
  return names.find((name) => typeof name === "string" && name !== "") as string;
}

function notAnOperator(claim: string): ServiceError {
  const detail = `The token is valid, but its claim "${claim}" does not make its user an operator. Ask for the role, or use another sign-in.`;
  return new ServiceError(403, "operator_unknown", detail);
}

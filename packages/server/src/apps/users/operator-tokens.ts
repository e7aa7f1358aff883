import type { JWTPayload } from "jose";
import type { OperatorSettings } from "../../core/app-settings.ts";
import { ServiceError } from "../../core/errors.ts";
import type { Operator, OperatorTokens } from "../../core/ports/driving/credentials.ts";
import { refusedToken } from "./token-refusals.ts";
import { TokenVerifier, type TokenVerifierOptions } from "./token-verifier.ts";

/** Claims with the name of a person, in order of preference (OpenID Connect Core 1.0 section 5.1). */
const NAME_CLAIMS = ["email", "preferred_username", "name", "sub"];

/** Returns the check of operators' tokens; `null` without `operators` in the configuration. */
export function operatorTokens(
  settings: OperatorSettings | null,
  options: TokenVerifierOptions,
): OperatorTokens | null {
  if (settings === null) return null;
  const verifier = new TokenVerifier(options);
  return {
    async check(token): Promise<Operator | ServiceError> {
      const payload = await verifier.verify(token, settings);
      if (typeof payload === "string") return refusedToken(payload);
      const values: readonly unknown[] = [claimOf(payload, settings.claim)].flat();
      return values.some((value) => settings.values.some((wanted) => wanted === value))
        ? { subject: payload.sub ?? "", name: nameOf(payload) }
        : notAnOperator(settings.claim);
    },
  };
}

/** Returns a claim by its name or by a dotted path. */
function claimOf(payload: JWTPayload, claim: string): unknown {
  if (Object.hasOwn(payload, claim)) return payload[claim];
  return claim
    .split(".")
    .reduce<unknown>(
      (value, name) =>
        typeof value === "object" && value !== null
          ? (value as Readonly<Record<string, unknown>>)[name]
          : undefined,
      payload,
    );
}

function nameOf(payload: JWTPayload): string {
  const names = NAME_CLAIMS.map((claim) => payload[claim]);
  return names.find((name) => typeof name === "string" && name !== "") as string;
}

function notAnOperator(claim: string): ServiceError {
  const detail = `The token is valid, but its claim "${claim}" does not make its user an operator. Ask for the role, or use another sign-in.`;
  return new ServiceError(403, "operator_unknown", detail);
}

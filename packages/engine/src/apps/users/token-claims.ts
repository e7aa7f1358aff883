// Reads claims of verified tokens.

import type { JWTPayload } from "jose";
import type { ClaimValues } from "../../core/app-settings.ts";
import { cleanText } from "../../core/json.ts";

/** Maximum length of an approver's name in characters. */
const NAME_MAX = 100;
/** Claims for an approver's name, in order of preference (OpenID Connect Core 1.0 section 5.1). */
const NAME_CLAIMS = ["name", "preferred_username", "email"];

/** Returns the claim with this name or dotted path. */
function claimOf(payload: JWTPayload, claim: string): unknown {
  if (Object.hasOwn(payload, claim)) return payload[claim];
  return claim
    .split(".")
    .reduce<unknown>(
      (value, name) =>
        typeof value === "object" && value !== null && Object.hasOwn(value, name)
          ? (value as Readonly<Record<string, unknown>>)[name]
          : undefined,
      payload,
    );
}

/** Returns true if the claim equals one of the values, or is a list that contains one. */
export function hasClaim(payload: JWTPayload, { claim, values }: ClaimValues): boolean {
  const found: readonly unknown[] = [claimOf(payload, claim)].flat();
  return found.some((value) => values.some((wanted) => wanted === value));
}

/** Returns the user's display name on one line; `null` if the token has none. */
export function nameToShow(payload: JWTPayload): string | null {
  for (const claim of NAME_CLAIMS) {
    const value = payload[claim];
    if (typeof value !== "string") continue;
    const name = cleanText(value)
      .replaceAll(/[\p{Cc}\p{Cf}\p{Z}]+/gu, " ")
      .trim();
    if (name !== "") return name.slice(0, NAME_MAX).toWellFormed();
  }
  return null;
}

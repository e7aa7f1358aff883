// Errors for requests whose key or token does not permit the operation.

import { ServiceError } from "@colloquy/engine/internal/core/errors";
import type { KeyScope } from "@colloquy/engine/internal/core/key-scopes";

/** Returns the same error whether or not the App exists. */
export function unknownKey(): ServiceError {
  return new ServiceError(
    401,
    "app_key_invalid",
    "This App needs a valid key in the header SERVICE-APP-KEY. Use the App default, which needs none, or ask the operator " +
      "for a key.",
    { headers: { "www-authenticate": 'ServiceAppKey realm="colloquy", header="SERVICE-APP-KEY"' } },
  );
}

export function appForbidden(): ServiceError {
  return new ServiceError(
    403,
    "app_forbidden",
    "The key in the header SERVICE-APP-KEY does not open this App. Send a key that does, or ask the operator for one.",
  );
}

/** Returns the 403 for a user who is not an approver. */
export function notAnApprover(): ServiceError {
  return new ServiceError(
    403,
    "approver_unknown",
    "Your token does not make you an approver. Ask for the role, or send X-Session-Id for actions of your own conversation.",
  );
}

/** Returns the 403 for a session whose App does not permit claims or does not accept the user. */
export function claimForbidden(): ServiceError {
  return new ServiceError(
    403,
    "claim_forbidden",
    "Conversations of this App cannot be claimed with this token. Start a new one.",
  );
}

/** Returns the 403 for a client id other than the user's, because with a token the client is the user. */
export function otherClient(): ServiceError {
  return new ServiceError(
    403,
    "client_id_forbidden",
    "The client of a signed-in user is the user. Omit client_id.",
  );
}

/** Returns the 403 for a client id that is the pseudonym of a user, which only that user may use. */
export function reservedClient(): ServiceError {
  return new ServiceError(
    403,
    "client_id_forbidden",
    "This client_id is reserved for a signed-in user. Send the user's token without client_id, or use another client_id.",
  );
}

export function scopeMissing(scope: KeyScope): ServiceError {
  return new ServiceError(
    403,
    "scope_missing",
    `The key lacks the scope "${scope}". Send a key that has it, or ask the operator for one.`,
  );
}

/** Returns the 401 for a request without a token. Its header contains no error code (RFC 6750 section 3). */
export function tokenRequired(): ServiceError {
  const detail = "This is for signed-in users. Send the header Authorization: Bearer with the user's token.";
  return new ServiceError(401, "token_required", detail, {
    headers: { "www-authenticate": 'Bearer realm="colloquy"' },
  });
}

// What whoever may not use an App is told: the same where there is no such App.

import { ServiceError } from "../core/errors.ts";

/** 401 */
export function unknownKey(): ServiceError {
  return new ServiceError(
    401,
    "app_key_invalid",
    "This App needs a valid key in the header SERVICE-APP-KEY. Use the App default, which needs none, or ask the operator " +
      "for a key.",
    { headers: { "www-authenticate": 'ServiceAppKey realm="colloquy", header="SERVICE-APP-KEY"' } },
  );
}

/** 403 */
export function appForbidden(): ServiceError {
  return new ServiceError(
    403,
    "app_forbidden",
    "The key in the header SERVICE-APP-KEY does not open this App. Send a key that does, or ask the operator for one.",
  );
}

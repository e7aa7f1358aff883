import type { SecretSlot } from "@colloquy/protocol";
import { InvalidRequest } from "./errors.ts";
import type { JsonObject } from "./json.ts";

/** Characters, in UTF-16 units. Enough for any key or certificate on one line. */
export const SECRET_MAX = 8_192;

/**
 * Checks the values that a client sends for an App's slots (contract section 4). Errors name only slots of the App, so that a value
 * sent as a name is never echoed.
 *
 * @throws InvalidRequest for a slot that the App does not declare, and for a value that is not 1 to 8,192 characters without control
 *   characters
 */
export function readSecretValues(
  app: string,
  slots: readonly SecretSlot[],
  sent: JsonObject,
): Readonly<Record<string, string>> {
  const names = Object.keys(sent);
  if (names.length === 0) {
    throw new InvalidRequest("body_invalid", 'The body must name at least one slot: {"NAME": "value"}.');
  }
  const declared = new Set(slots.map(({ name }) => name));
  if (names.some((name) => !declared.has(name))) {
    const offer = declared.size === 0 ? "It declares none." : `It declares: ${[...declared].join(", ")}.`;
    const detail = `The body names a slot for secrets that the App ${app} does not declare. ${offer}`;
    throw new InvalidRequest("secret_slot_unknown", detail);
  }
  return Object.fromEntries(
    Object.entries(sent).map(([name, value]) => {
      if (typeof value === "string" && isSecretValue(value)) return [name, value];
      const rule = `must be a string of 1 to ${SECRET_MAX} characters without control characters`;
      throw new InvalidRequest("parameter_invalid", `The body field "${name}" ${rule}.`);
    }),
  );
}

function isSecretValue(value: string): boolean {
  return value.length >= 1 && value.length <= SECRET_MAX && !/\p{Cc}/u.test(value);
}

// Secrets in the headers and environments that an operator configures for a server: substitutes `{{secret.NAME}}`, and
// finds the secrets, so that a server cannot expose them by repeating them.

import { decodePercent } from "../core/json.ts";
import type { ToolScope } from "./tool-source.ts";
import { createScrubber, type Scrubber } from "./scrub.ts";

type Headers = Readonly<Record<string, string>>;

const PLACE = /\{\{\s*secret\.([^{}\s]+)\s*\}\}/g;

/** Returns the names of the secrets that the headers need, without duplicates. */
export function secretsIn(headers: Headers): readonly string[] {
  const names = Object.values(headers).flatMap((value) => [...value.matchAll(PLACE)].map(([, name]) => name));
  return [...new Set(names)].filter((name) => name !== undefined);
}

/**
 * Returns the headers with the secrets of the turn's client filled in.
 *
 * @throws SecretMissing for a secret that is not set; Error for a value that a header cannot hold.
 */
export function fillSecrets(headers: Headers, scope: Pick<ToolScope, "secret">): Headers {
  const filled = Object.entries(headers).map(([header, value]) => {
    const text = value.replaceAll(PLACE, (_place, name: string) => readSecret(name, scope));
    return [header, text] as const;
  });
  return Object.fromEntries(filled);
}

function readSecret(name: string, scope: Pick<ToolScope, "secret">): string {
  const value = scope.secret(name).trim();
  // An invalid value could inject another header, or fail with an error message that quotes it.
  if (!/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) {
    throw new Error(
      `The secret "${name}" has characters that cannot be sent. Tell the user to set it again.`,
    );
  }
  return value;
}

/**
 * Names of variables whose values are always keys. Values of other variables count only if they look like
 * one.
 */
const NAMES_OF_KEYS = /auth|cookie|credential|key|pass|secret|token/i;
/** Minimum length of a value that counts as a secret. Shorter values would match too much text. */
const MIN_LENGTH = 8;
/** Values such as `production`, `eu-central-1` and `en_US.UTF-8`, which are common in tool results. */
const WORDS = /^[a-z]+(?:[-_. ,][a-z]+)*(?:[-_.]?\d{1,4})?$/i;
/** A path or a list of paths. */
const PATHS = /^(?:~|\.{1,2})?\/[\w./:~@ -]*$/;
const URL_PARTS = /^[a-z][a-z0-9+.-]*:\/\/(?:([^/?#]*)@)?[^/?#]*([^?#]*)(?:\?([^#]*))?/i;
/** A random path segment, which serves as a key in webhook URLs. */
const RANDOM = /^(?=.*\d)[\w-]{16,}$/;

/** Creates a scrubber of all configured header values and the client secrets that a service receives. */
export function headerScrubber(headers: Headers, secrets: readonly string[] = []): Scrubber {
  return createScrubber([...Object.values(headers).flatMap(partsOf), ...secrets]);
}

/** Returns the keys in variables, by the variable's name or by the look of its value. */
export function keysInVariables(
  variables: readonly (readonly [name: string, value: string])[],
): readonly string[] {
  return variables.flatMap(([name, value]) =>
    NAMES_OF_KEYS.test(name) ? [...partsOf(value), ...(keysInUrl(value) ?? [])] : keysIn([value]),
  );
}

/** Returns the parts of the values that look like keys. */
function keysIn(values: readonly string[]): readonly string[] {
  return values.flatMap((value) => {
    const inUrl = keysInUrl(value);
    if (inUrl !== null) return inUrl;
    return WORDS.test(value) || PATHS.test(value) ? [] : partsOf(value);
  });
}

/** Returns the value and its words, because a header may consist of a scheme and a key. */
function partsOf(value: string): readonly string[] {
  return [value, ...value.split(/\s+/)].filter((part) => part.length >= MIN_LENGTH && !part.includes("{{"));
}

/** Returns the secrets in a URL, encoded and decoded; `null` if the value is not a URL. */
function keysInUrl(value: string): readonly string[] | null {
  const parts = URL_PARTS.exec(value);
  if (parts === null) return null;
  const [, userInfo = "", path = "", query = ""] = parts;
  const [user = "", ...password] = userInfo.split(":");
  const found = [
    password.join(":"),
    // A user name beside a password is not secret, unless it looks like a key.
    password.length === 0 || (user.length >= MIN_LENGTH && !WORDS.test(user)) ? user : "",
    ...[...new URLSearchParams(query).values()].filter(
      (part) => part.length >= MIN_LENGTH && !WORDS.test(part),
    ),
    ...path.split("/").filter((part) => RANDOM.test(part)),
  ];
  return found.filter((part) => part !== "").flatMap((part) => [part, decodePercent(part)]);
}

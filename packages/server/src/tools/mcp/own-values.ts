// What the operator has put into the headers and the environment of a server: keys, as a rule. A server that repeats them shows them to nobody.

import type { McpServerSettings } from "../../core/app-settings.ts";
import { createScrubber, type Scrubber } from "../scrub.ts";

type Values = Readonly<Record<string, string>>;

/** By what they are called; of other values in the environment those are no keys that look like none. */
const NAMES_OF_KEYS = /auth|cookie|credential|key|pass|secret|token/i;
/** Shorter values would be found everywhere. */
const MIN_LENGTH = 8;
/** `production`, `eu-central-1`, `en_US.UTF-8`: a tool's answers may be full of them. */
const WORDS = /^[a-z]+(?:[-_. ,][a-z]+)*(?:[-_.]?\d{1,4})?$/i;
/** One path or a list of them. */
const PATHS = /^(?:~|\.{1,2})?\/[\w./:~@ -]*$/;
const URL_PARTS = /^[a-z][a-z0-9+.-]*:\/\/(?:([^/?#]*)@)?[^/?#]*([^?#]*)(?:\?([^#]*))?/i;
/** Part of a path that nobody has thought up: a webhook's address is a key. */
const RANDOM = /^(?=.*\d)[\w-]{16,}$/;

/** Takes the server's own keys out of what it says, and the secrets of a client that it is sent. */
export function ownScrubber(settings: McpServerSettings, secrets: readonly string[]): Scrubber {
  return settings.transport === "http"
    ? headerScrubber(settings.headers.reveal(), secrets)
    : createScrubber([...keysInEnvironment(settings.env.reveal()), ...secrets]);
}

/** Takes all values of an operator's headers out of what a service says, and the secrets of a client that it is sent. */
export function headerScrubber(headers: Values, secrets: readonly string[] = []): Scrubber {
  return createScrubber([...Object.values(headers).flatMap(partsOf), ...secrets]);
}

function keysInEnvironment(env: Values): readonly string[] {
  return Object.entries(env).flatMap(([name, value]) => {
    const inUrl = keysInUrl(value);
    if (NAMES_OF_KEYS.test(name)) return [...partsOf(value), ...(inUrl ?? [])];
    if (inUrl !== null) return inUrl;
    return WORDS.test(value) || PATHS.test(value) ? [] : partsOf(value);
  });
}

/** A value and what stands in it between white space: a header may be a scheme and a key. */
function partsOf(value: string): readonly string[] {
  return [value, ...value.split(/\s+/)].filter((part) => part.length >= MIN_LENGTH && !part.includes("{{"));
}

/** What is secret in a URL, as it is written and as it is meant; `null` for what is no URL. */
function keysInUrl(value: string): readonly string[] | null {
  const parts = URL_PARTS.exec(value);
  if (parts === null) return null;
  const [, userInfo = "", path = "", query = ""] = parts;
  const [user = "", ...password] = userInfo.split(":");
  const found = [
    password.join(":"),
    // A user's name alone is one that others have too, unless it is a key itself.
    password.length === 0 || (user.length >= MIN_LENGTH && !WORDS.test(user)) ? user : "",
    ...[...new URLSearchParams(query).values()].filter(
      (part) => part.length >= MIN_LENGTH && !WORDS.test(part),
    ),
    ...path.split("/").filter((part) => RANDOM.test(part)),
  ];
  return found.filter((part) => part !== "").flatMap((part) => [part, decoded(part)]);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

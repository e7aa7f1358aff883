// What the operator has put into the headers and the environment of a server: keys, as a rule. A server that repeats them shows them to nobody.

import type { McpServerSettings } from "../../core/app-settings.ts";
import { createScrubber, type Scrubber } from "../scrub.ts";

/** By what they are called; a path or a region in the environment is no key, and a tool's answers may be full of it. */
const NAMES_OF_KEYS = /auth|cookie|credential|key|pass|secret|token/i;
/** Shorter values would be found everywhere. */
const MIN_LENGTH = 8;

/** Takes the server's own keys out of what it says, and the secrets of a client that it is sent. */
export function ownScrubber(settings: McpServerSettings, secrets: readonly string[]): Scrubber {
  const hidden = settings.transport === "http" ? settings.headers : settings.env;
  const keys = Object.entries(hidden.reveal())
    .filter(([name]) => NAMES_OF_KEYS.test(name))
    // A header may be a scheme and a key.
    .flatMap(([, value]) => [value, ...value.split(/\s+/)])
    .filter((value) => value.length >= MIN_LENGTH && !value.includes("{{"));
  return createScrubber([...keys, ...secrets]);
}

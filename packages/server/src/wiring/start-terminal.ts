// The terminal that started the service, if any.

import { closeSync, openSync } from "node:fs";
import type { Config } from "../config/config.ts";

/** True if the controlling terminal still exists. */
export function hasTerminal(): boolean {
  try {
    closeSync(openSync("/dev/tty", "r"));
    return true;
  } catch {
    return false;
  }
}

/** Returns the welcome text. */
export function welcome(url: string, config: Config): string {
  const models = config.apps["default"]?.models.join(", ");
  return `
Colloquy listens on ${url}. Models: ${models}.

  Open in a browser:  ${url}
  Say something:      curl -X POST -H "X-Session-Id: $(node -p 'crypto.randomUUID()')" -H "Prefer: wait=10" "${url}/api/chat?message=Hello"
  Read the API:       ${url}/docs
  Stop:               Ctrl+C
`;
}

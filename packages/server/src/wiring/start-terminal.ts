// The terminal that the service was started from, if it was one.

import { closeSync, openSync } from "node:fs";
import type { Config } from "../config/config.ts";

/** Whether the terminal that the process was started from is still there. */
export function hasTerminal(): boolean {
  try {
    closeSync(openSync("/dev/tty", "r"));
    return true;
  } catch {
    return false;
  }
}

/** What is said to the person there. */
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

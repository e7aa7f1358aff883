// User-facing messages about the start of the service.

import { readFileSync } from "node:fs";
import type { Config } from "../config/config.ts";
import { describeFileError } from "@colloquy/engine/internal/core/file-error";

/** Returns a message with the problem and its remedy. */
export function explainStartFailure(error: unknown, { server }: Pick<Config, "server">): string {
  const { host, port } = server;
  switch (codeOf(error)) {
    case "EADDRINUSE":
      return `${host}:${port} is taken by another program. Stop that one, or choose another port with --port or PORT.`;
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return `${host} is no address of this machine. Set --host or HOST to one that it has, or to 0.0.0.0 for all of them.`;
    case "EACCES":
      return `this user may not listen on port ${port}. Choose a port from 1024 on with --port or PORT.`;
    case "store_unavailable":
      return `the store cannot be used: ${reasonOf(error)}. Correct that, and start again.`;
    default:
      return error instanceof Error ? error.message : String(error);
  }
}

/** Returns the message of the innermost cause, which is the most specific one for operators. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message.replace(/\.$/, "") : reasonOf(error.cause);
}

/** Returns the warning about an ignored file. */
export function explainIgnored(path: string, error: unknown): string {
  const advice = "It is ignored: remove it, or replace it with a file that the service's user can read.";
  return describeFileError(path, error, advice);
}

/** Open files that a node with many event streams and connections needs. */
const FEWEST_FILES = 4096;

/** Returns a warning if this process may open few files; `null` otherwise, and where the limit is unknown. */
export function explainFewFiles(): string | null {
  const limit = readFileLimit();
  if (limit === null || limit >= FEWEST_FILES) return null;
  return (
    `This process may open only ${limit} files, and each event stream and connection needs one; beyond the limit, connections are dropped. ` +
    "Raise it to 65536: LimitNOFILE in the systemd unit, ulimits.nofile in Compose, or ulimit -n."
  );
}

/** Node raises the soft limit to the hard one when it starts. */
function readFileLimit(): number | null {
  try {
    const limit = /^Max open files +(\d+)/m.exec(readFileSync("/proc/self/limits", "latin1"))?.[1];
    return limit === undefined ? null : Number(limit);
  } catch {
    // The system is not Linux.
    return null;
  }
}

/** Returns true for errors other than user-facing refusals to start. */
export function isDefect(error: unknown): boolean {
  return !(error instanceof Error) || (error.name !== "Error" && codeOf(error) === null);
}

export function codeOf(error: unknown): unknown {
  return error instanceof Error && "code" in error ? error.code : null;
}

/** Returns the welcome text. */
export function welcome(url: string, config: Config, { hasGuide }: { readonly hasGuide: boolean }): string {
  const models = config.apps["default"]?.models.join(", ");
  return `
Colloquy listens on ${url}. Models: ${models}.

  Open in a browser:  ${url}
  Say something:      curl -X POST -H "X-Session-Id: $(node -p 'crypto.randomUUID()')" -H "Prefer: wait=10" "${url}/api/chat?message=Hello"
  Read the API:       ${url}/docs${hasGuide ? `\n  Read the guide:     ${url}/guide/` : ""}
  Stop:               Ctrl+C
`;
}

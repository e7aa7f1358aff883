// Commands without a process: what they write is kept, and what a test does not give them it does not want to be asked for.

import type { CommandParts, ExitCode } from "../command.ts";
import { runCommandLine } from "../run.ts";

export interface RecordedRun {
  readonly code: ExitCode;
  readonly output: string;
  readonly errors: string;
}

export function recordedParts(given: Partial<CommandParts>) {
  const written = { output: "", errors: "" };
  const unwanted = (what: string) => () => Promise.reject(new Error(`nobody asked for ${what}`));
  const parts: CommandParts = {
    version: "1.2.3",
    output: { write: (text) => (written.output += text) },
    errors: { write: (text) => (written.errors += text) },
    columns: null,
    environment: {},
    // Nothing that is tested without a process has a terminal.
    host: process,
    serve: unwanted("the service"),
    loadConfig: unwanted("the configuration"),
    localServices: unwanted("a running service"),
    openAdministration: unwanted("the store"),
    ...given,
  };
  return { parts, written };
}

/** As an operator types it, without the name of the program. */
export async function recordedRun(
  parameters: readonly string[],
  given: Partial<CommandParts> = {},
): Promise<RecordedRun> {
  const { parts, written } = recordedParts(given);
  const code = await runCommandLine(parameters, parts);
  return { code, ...written };
}

// Runs commands in-process and records their output. Using a part that the test did not provide fails.

import type { CommandParts, ExitCode } from "../command.ts";
import { runCommandLine } from "../run.ts";

export interface RecordedRun {
  readonly code: ExitCode;
  readonly output: string;
  readonly errors: string;
}

export function recordedParts(given: Partial<CommandParts>) {
  const written = { output: "", errors: "" };
  const unexpected = (what: string) => () => Promise.reject(new Error(`unexpected use of ${what}`));
  const parts: CommandParts = {
    version: "1.2.3",
    output: { write: (text) => (written.output += text) },
    errors: { write: (text) => (written.errors += text) },
    columns: null,
    environment: {},
    // Commands tested in-process do not use the terminal.
    host: process,
    serve: unexpected("the service"),
    loadConfig: unexpected("the configuration"),
    localServices: unexpected("a running service"),
    openLocalStore: unexpected("the store"),
    ...given,
  };
  return { parts, written };
}

/** Runs a command line, given without the program name. */
export async function recordedRun(
  parameters: readonly string[],
  given: Partial<CommandParts> = {},
): Promise<RecordedRun> {
  const { parts, written } = recordedParts(given);
  const code = await runCommandLine(parameters, parts);
  return { code, ...written };
}

// Dependencies and errors of commands. A command is a file `cli/<name>.ts` with a function that adds it to a program. It
// accesses the process only through `CommandParts`.

import type { Administration, DatabaseNeed } from "../wiring/administration.ts";
import type { Config } from "../config/config.ts";
import type { Environment } from "../config/secret-variable.ts";
import type { LoadedConfig } from "../config/load-config.ts";
import { formatProblems } from "../config/problem.ts";
import { readSecret } from "../config/secret-variable.ts";
import { harmlessJson } from "./harmless-text.ts";

/** 0: success. 1: failure. 2: wrong arguments or configuration. 130: ended by Ctrl-C. 143: ended by SIGTERM or SIGHUP. */
export type ExitCode = 0 | 1 | 2 | 130 | 143;

type EndSignal = "SIGINT" | "SIGTERM" | "SIGHUP";

/** The part of `process` that a conversation in a terminal needs. */
export interface HostProcess {
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  readonly pid: number;
  on(event: EndSignal | "SIGCONT" | "exit", listener: () => void): unknown;
  off(event: EndSignal | "SIGCONT" | "exit", listener: () => void): unknown;
  /** `0` stands for the process group. */
  kill(pid: number, signal: "SIGTSTP" | "SIGWINCH"): unknown;
}

/** A connection of a command to the service configured here. */
export interface LocalService {
  readonly url: string;
  /** True if it runs in this process. */
  readonly isInProcess: boolean;
  stop(): Promise<void>;
}

export interface LocalServices {
  /** Returns the URL of the running server of this configuration; `null` if none runs. */
  findRunning(config: Config): Promise<string | null>;
  /** Opens the running service, or starts one in this process. */
  openLocalService(
    config: Config,
    options: { readonly onFatal: (error: Error) => void; readonly processId: number },
  ): Promise<LocalService>;
}

export interface CommandParts {
  readonly version: string;
  /** The two streams of the process; `text` ends with a line feed. */
  readonly output: { write(text: string): void };
  readonly errors: { write(text: string): void };
  /** Width of the terminal in characters; `null` if the output is not a terminal. */
  readonly columns: number | null;
  readonly environment: Environment;
  readonly host: HostProcess;
  /** Starts the service. Resolves when it accepts requests or failed to start. */
  serve(): Promise<ExitCode>;
  /** Loads the configuration that a server started here would use. */
  loadConfig(): Promise<LoadedConfig>;
  localServices(): Promise<LocalServices>;
  /** Opens the store, which works beside a running server. Prefer `administer`, which also closes it. */
  openAdministration(need: DatabaseNeed): Promise<Administration>;
}

/** A failure of a command. The message is shown to the user and says what to do. */
export class CommandFailure extends Error {
  readonly exitCode: Exclude<ExitCode, 0>;

  constructor(message: string, exitCode: Exclude<ExitCode, 0> = 1) {
    super(message);
    this.name = "CommandFailure";
    this.exitCode = exitCode;
  }
}

/** Returns a key from a variable or from the file that its `_FILE` variant names; `""` if neither is set. */
export function readKey({ environment }: Pick<CommandParts, "environment">, variable: string): string {
  const reading = readSecret(environment, variable);
  if ("text" in reading) return reading.text;
  throw new CommandFailure(`Colloquy: ${variable} ${reading.problem}`, 2);
}

/** Runs `work` with the store open and always closes it. Rejects with `NoDatabase` if `need` requires an existing one. */
export async function administer<Result>(
  parts: CommandParts,
  need: DatabaseNeed,
  work: (administration: Administration) => Promise<Result>,
): Promise<Result> {
  const administration = await parts.openAdministration(need);
  try {
    return await work(administration);
  } finally {
    await administration.close();
  }
}

/** Rejects with a `CommandFailure` that lists the problems of the configuration. */
export async function configuration(parts: Pick<CommandParts, "loadConfig">): Promise<Config> {
  const loaded = await parts.loadConfig();
  if (!loaded.ok) throw new CommandFailure(formatProblems(loaded.problems), 2);
  return loaded.config;
}

export function printLine({ output }: CommandParts, line: string): void {
  output.write(`${line}\n`);
}

/** Prints one JSON document, for `--json`. */
export function printJson(parts: CommandParts, value: unknown): void {
  printLine(parts, harmlessJson(value, 2));
}

// What a command is given, and how it says that it could not do its work. A command is a file `cli/<name>.ts` with a function that adds
// itself to a program; it touches the process through nothing but its parts.

import type { Administration, DatabaseNeed } from "../administration.ts";
import type { Config } from "../config/config.ts";
import type { Environment } from "../config/environment.ts";
import type { LoadedConfig } from "../config/load-config.ts";
import { harmlessJson } from "./harmless-text.ts";

/** 0: done. 1: could not. 2: the arguments or the configuration are wrong. 130 and 143: ended by Ctrl-C, by SIGTERM or SIGHUP. */
export type ExitCode = 0 | 1 | 2 | 130 | 143;

type EndSignal = "SIGINT" | "SIGTERM" | "SIGHUP";

/** What a conversation in a terminal needs of the process; `process` fits. */
export interface HostProcess {
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  readonly pid: number;
  on(event: EndSignal | "SIGCONT" | "exit", listener: () => void): unknown;
  off(event: EndSignal | "SIGCONT" | "exit", listener: () => void): unknown;
  /** `0` is the group of the process. */
  kill(pid: number, signal: "SIGTSTP" | "SIGWINCH"): unknown;
}

/** The service that the configuration here describes, while a command talks to it. */
export interface LocalService {
  readonly url: string;
  /** Whether it runs in this process. */
  readonly isInside: boolean;
  stop(): Promise<void>;
}

export interface LocalServices {
  /** Where the server of this configuration answers, `null` when none runs. */
  findRunning(config: Config): Promise<string | null>;
  /** That one, or one in this process. */
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
  /** Width of the terminal in characters, `null` when the output is none. */
  readonly columns: number | null;
  readonly environment: Environment;
  readonly host: HostProcess;
  /** Starts the service; answers when it takes requests, or could not be started. */
  serve(): Promise<ExitCode>;
  /** The configuration that a server started here would use. */
  loadConfig(): Promise<LoadedConfig>;
  localServices(): Promise<LocalServices>;
  /** The store, beside a running server. Use `administer`, which closes it. */
  openAdministration(need: DatabaseNeed): Promise<Administration>;
}

/** Thrown by a command that could not do its work. The message is for the person at the terminal, and says what to do. */
export class CommandFailure extends Error {
  readonly exitCode: Exclude<ExitCode, 0>;

  constructor(message: string, exitCode: Exclude<ExitCode, 0> = 1) {
    super(message);
    this.name = "CommandFailure";
    this.exitCode = exitCode;
  }
}

/** Runs `work` with the store open, and closes it whatever happens. Rejects with `NoDatabase` where an existing one is needed. */
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

export function printLine({ output }: CommandParts, line: string): void {
  output.write(`${line}\n`);
}

/** What `--json` prints: one document. */
export function printJson(parts: CommandParts, value: unknown): void {
  printLine(parts, harmlessJson(value, 2));
}

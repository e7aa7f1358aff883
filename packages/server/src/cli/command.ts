// Dependencies and errors of commands. A command is a function that adds it to a program. It accesses the process only
// through `CommandParts`.

import { ColloquyError } from "@colloquy/client";
import { InvalidArgumentError } from "commander";
import type { LocalStore, DatabaseNeed } from "../wiring/local-store.ts";
import type * as LocalServices from "../wiring/local-service.ts";
import type { Config } from "../config/config.ts";
import type { Environment } from "@colloquy/engine/internal/config/secret-variable";
import type { LoadedConfig } from "../config/load-config.ts";
import { formatProblems } from "@colloquy/engine/internal/config/problem";
import { readSecret } from "@colloquy/engine/internal/config/secret-variable";
import { harmlessJson } from "./terminal-text.ts";

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

/** Environment variables, given as options. */
export type Overrides = Readonly<Record<string, string>>;

/** `dev` starts the service in a process of its own, in the mode `watched`, again and again. */
export type ServeMode = "serve" | "dev" | "watched";

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
  serve(overrides: Overrides, mode?: ServeMode): Promise<ExitCode>;
  /** Loads the configuration that a server started here would use. */
  loadConfig(): Promise<LoadedConfig>;
  localServices(): Promise<Pick<typeof LocalServices, "findRunning" | "openLocalService">>;
  /** Opens the store, which works beside a running server. Prefer `administer`, which also closes it. */
  openLocalStore(need: DatabaseNeed): Promise<LocalStore>;
}

/** A failure of a command. The message is shown to the user and says what to do. */
export class CommandFailure extends Error {
  readonly exitCode: Exclude<ExitCode, 0>;

  constructor(message: string, exitCode: Exclude<ExitCode, 0> = 1, options?: ErrorOptions) {
    super(message, options);
    this.name = "CommandFailure";
    this.exitCode = exitCode;
  }
}

/** Returns a key from a variable or from the file that its `_FILE` variant names; `""` if neither is set. */
export function readKey({ environment }: Pick<CommandParts, "environment">, variable: string): string {
  const reading = readSecret(environment, variable);
  if ("problem" in reading) throw new CommandFailure(`Colloquy: ${variable} ${reading.problem}`, 2);
  if (/^[\x20-\x7e]*$/.test(reading.text)) return reading.text;
  throw new CommandFailure(
    `Colloquy: ${variable} must be one line of ASCII characters, because a header carries it. Copy it again.`,
    2,
  );
}

/** Runs `work` with the store open and always closes it. Rejects with `NoDatabase` if `need` requires an existing one. */
export async function administer<Result>(
  parts: CommandParts,
  need: DatabaseNeed,
  work: (local: LocalStore) => Promise<Result>,
): Promise<Result> {
  const local = await parts.openLocalStore(need);
  try {
    return await work(local);
  } finally {
    await local.close();
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

/** Returns the base URL given with --url, without query and fragment. */
export function baseUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new CommandFailure(`Colloquy: --url: ${text} is not a URL such as https://chat.example.com.`, 2);
  }
  if (url.username !== "" || url.password !== "") {
    throw new CommandFailure(
      "Colloquy: --url: Remove user and password; set keys in environment variables.",
      2,
    );
  }
  return `${url.origin}${url.pathname}`.replace(/\/+$/, "");
}

/** Returns true if the 404 says that the session does not exist. A service without admin API answers 404 too. */
export function isSessionNotFound(error: unknown): boolean {
  return error instanceof ColloquyError && ["session_not_found", "session_deleted"].includes(error.code);
}

/** Returns a message for the user if the service itself cannot be reached, otherwise the error unchanged. */
export function describeConnectionError(url: string, error: unknown): unknown {
  switch (error instanceof ColloquyError ? error.code : null) {
    case "network_failed":
    case "timeout":
      return new CommandFailure(
        `Colloquy: Nothing answers at ${url}. Check the URL, or start the service there.`,
      );
    case "http_error":
    case "answer_invalid":
      return new CommandFailure(`Colloquy: The server at ${url} is not Colloquy. Check the URL.`);
    default:
      return error;
  }
}

/** Aligns the columns of rows of text. */
export function textTable(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}

const UNITS: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 60 * 60_000,
  d: 24 * 60 * 60_000,
  w: 7 * 24 * 60 * 60_000,
};

/** Parses a duration option such as `90d`, `24h` or `0s` into milliseconds. Throws `InvalidArgumentError`. */
export function parseDuration(text: string): number {
  const { count, unit } = /^(?<count>\d{1,5})(?<unit>[smhdw])$/.exec(text)?.groups ?? {};
  const milliseconds = unit === undefined ? undefined : UNITS[unit];
  if (milliseconds === undefined) {
    throw new InvalidArgumentError(
      "It must be a number and a unit (s, m, h, d or w), for example 90d or 24h.",
    );
  }
  return Number(count) * milliseconds;
}

// Commands that start the service, and the one that reloads its configuration.

import { type Command, InvalidArgumentError, Option } from "commander";
import { type ConfigProblem, formatProblems, REFUSED } from "../config/problem.ts";
import {
  CommandFailure,
  type CommandParts,
  type ExitCode,
  type Overrides,
  printJson,
  printLine,
} from "./command.ts";

/** Options that override environment variables. */
const OVERRIDES = [
  { flags: "--port <number>", variable: "PORT", about: "port to listen on; 0 takes a free one" },
  { flags: "--host <address>", variable: "HOST", about: "address to listen on; 0.0.0.0 for all" },
  { flags: "--data-dir <directory>", variable: "COLLOQUY_DATA_DIR", about: "directory of the database" },
] as const;

/** Names the option in problems with its value. */
export function nameOptions(
  problems: readonly ConfigProblem[],
  overrides: Overrides,
): readonly ConfigProblem[] {
  return problems.map((problem) => {
    const option = OVERRIDES.find(({ variable }) => variable === problem.location);
    if (problem.source !== "environment" || option === undefined || !(option.variable in overrides))
      return problem;
    return { ...problem, location: option.flags.split(" ")[0] ?? problem.location };
  });
}

export function addDevCommand(program: Command, parts: CommandParts, finish: (code: ExitCode) => void): void {
  const dev = program
    .command("dev")
    .description("start the service, and reload the configuration whenever its files change");
  addOverrides(dev);
  dev
    .addHelpText(
      "after",
      `
Example:
  colloquy dev --port 9000

Watches the configuration file, the files that it imports by a relative path, and its OpenAPI documents. Prints readable lines instead of
JSON. A mistake in a file is printed, and the old configuration stays in force.`,
    )
    .action(async (options: object) => finish(await parts.serve(overridesOf(options), "dev")));
}

export function addServeCommand(
  program: Command,
  parts: CommandParts,
  finish: (code: ExitCode) => void,
): void {
  const serve = program.command("serve").description("start the service");
  addOverrides(serve);
  serve
    .addHelpText(
      "after",
      `
Examples:
  colloquy serve --port 9000
  colloquy serve --data-dir /var/lib/colloquy

The log goes to standard output. SIGTERM and Ctrl-C shut the service down gracefully; colloquy reload, or SIGHUP, reloads the configuration file.`,
    )
    .action(async (options: object) => finish(await parts.serve(overridesOf(options))));
}

export function addReloadCommand(
  program: Command,
  parts: CommandParts,
  finish: (code: ExitCode) => void,
): void {
  const reload = program
    .command("reload")
    .description("reload the configuration of the running service, and wait for it");
  addOverride(reload, "--data-dir <directory>", "its data directory (overrides COLLOQUY_DATA_DIR)");
  reload
    .option("--pid <number>", "its process id, for a service on PostgreSQL", parsePid)
    .option("--json", "print one JSON document: { ok, changes, warnings } or { ok, problems }")
    .addHelpText(
      "after",
      `
Examples:
  colloquy reload
  colloquy reload --data-dir /var/lib/colloquy

Exits with 0 when the new configuration is in force, and with 2 if it has a problem: then the old one stays in force. Sessions, streams and
running turns go on.`,
    )
    .action(async ({ json = false, pid = null, ...options }: { json?: boolean; pid?: number | null }) =>
      finish(await reloadWith(parts, { json, pid, overrides: overridesOf(options) })),
    );
}

async function reloadWith(
  parts: CommandParts,
  { json, ...which }: { readonly json: boolean; readonly pid: number | null; readonly overrides: Overrides },
): Promise<ExitCode> {
  const outcome = await parts.reload(which);
  if (json) {
    printJson(parts, outcome);
    return outcome.ok ? 0 : 2;
  }
  if (!outcome.ok) throw new CommandFailure(formatProblems(outcome.problems, REFUSED), 2);
  for (const warning of outcome.warnings) parts.errors.write(`Warning: ${warning}\n`);
  for (const change of outcome.changes) printLine(parts, change);
  printLine(parts, "The configuration is in force.");
  return 0;
}

function addOverrides(command: Command): void {
  for (const { flags, variable, about } of OVERRIDES) {
    addOverride(command, flags, `${about} (overrides ${variable})`);
  }
}

function addOverride(command: Command, flags: string, about: string): void {
  command.addOption(new Option(flags, about).argParser(parsePresent));
}

function overridesOf(options: object): Overrides {
  const given = new Map(Object.entries(options));
  return Object.fromEntries(
    OVERRIDES.flatMap(({ flags, variable }) => {
      const value: unknown = given.get(new Option(flags).attributeName());
      return typeof value === "string" ? [[variable, value]] : [];
    }),
  );
}

/** Rejects empty text: an empty variable counts as unset, but an empty option is a mistake. */
function parsePresent(text: string): string {
  if (text.trim() === "")
    throw new InvalidArgumentError("It is empty: give a value, or leave the option out.");
  return text;
}

function parsePid(text: string): number {
  if (!/^[1-9]\d{0,9}$/.test(text)) throw new InvalidArgumentError("It must be a process id, such as 4711.");
  return Number(text);
}

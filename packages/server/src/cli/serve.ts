// Commands that start the service.

import { type Command, InvalidArgumentError, Option } from "commander";
import type { ConfigProblem } from "@colloquy/engine/internal/config/problem";
import type { CommandParts, ExitCode, Overrides } from "./command.ts";

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
  const dev = program.command("dev").description("start the service, and again whenever its files change");
  addOverrides(dev);
  dev.addOption(new Option("--watched").hideHelp());
  dev
    .addHelpText(
      "after",
      `
Example:
  colloquy dev --port 9000

Watches the configuration file, the files that it imports by a relative path, its OpenAPI documents and .env. Prints readable lines instead
of JSON. A mistake in a file is printed, and the service starts when it is fixed. Conversations stay.`,
    )
    .action(async ({ watched = false, ...options }: { readonly watched?: boolean }) =>
      finish(await parts.serve(overridesOf(options), watched ? "watched" : "dev")),
    );
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

The log goes to standard output. SIGTERM and Ctrl-C shut the service down gracefully. A restart applies a changed configuration, and loses nothing.`,
    )
    .action(async (options: object) => finish(await parts.serve(overridesOf(options))));
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

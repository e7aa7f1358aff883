// What can be completed, read from the commands themselves, so that no list of it can be out of date.

import type { Command } from "commander";

export interface CompletedOption {
  /** `--json`, `-v`. */
  readonly names: readonly string[];
  readonly about: string;
  /** Whether a value stands behind it; `choices` are what it may be, empty for anything. */
  readonly takesValue: boolean;
  readonly choices: readonly string[];
}

export interface CompletedCommand {
  /** From the program on: `keys create`; empty for the program itself. */
  readonly path: string;
  readonly about: string;
  readonly options: readonly CompletedOption[];
  /** Names of the commands below. */
  readonly commands: readonly { readonly name: string; readonly about: string }[];
  /** What its first argument may be, empty for anything. */
  readonly choices: readonly string[];
  /** Whether an argument is a file. */
  readonly takesFile: boolean;
}

export function commandTree(program: Command): readonly CompletedCommand[] {
  return collect(program, "");
}

function collect(command: Command, path: string): readonly CompletedCommand[] {
  const help = command.createHelp();
  const below = help.visibleCommands(command).filter((one) => one.name() !== "help");
  const options = help.visibleOptions(command).map((option) => ({
    names: [option.long, option.short].filter((name) => name !== undefined && name !== null),
    about: option.description,
    takesValue: option.required || option.optional,
    choices: option.argChoices ?? [],
  }));
  const [first] = command.registeredArguments;
  const completed: CompletedCommand = {
    path,
    about: command.description(),
    options,
    commands: below.map((one) => ({ name: one.name(), about: one.description() })),
    choices: first?.argChoices ?? [],
    takesFile: first?.name() === "file",
  };
  const paths = below.map((one) => collect(one, path === "" ? one.name() : `${path} ${one.name()}`));
  return [completed, ...paths.flat()];
}

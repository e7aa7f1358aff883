// Derives the completions from the commands themselves, so that they cannot become outdated.

import type { Command } from "commander";

export interface CompletedOption {
  /** `--json`, `-v`. */
  readonly names: readonly string[];
  readonly about: string;
  /** True if a value follows. `choices` are the allowed values; empty allows any. */
  readonly takesValue: boolean;
  readonly choices: readonly string[];
}

export interface CompletedCommand {
  /** Path from the program, such as `keys create`; empty for the program itself. */
  readonly path: string;
  readonly about: string;
  readonly options: readonly CompletedOption[];
  /** Subcommands. */
  readonly commands: readonly { readonly name: string; readonly about: string }[];
  /** Allowed values of the first argument; empty allows any. */
  readonly choices: readonly string[];
  /** True if an argument is a file. */
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

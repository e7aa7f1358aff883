// Completion scripts for shells, derived from the commands themselves, so that they cannot become outdated.

import { Argument, type Command } from "commander";
import type { CommandParts } from "./command.ts";

const SCRIPTS = { bash: bashScript, zsh: zshScript, fish: fishScript } as const;
type Shell = keyof typeof SCRIPTS;

export function addCompletionCommand(program: Command, { output }: CommandParts): void {
  program
    .command("completion")
    .description("print a script that lets a shell complete commands and options")
    .addArgument(new Argument("<shell>", "the shell").choices(Object.keys(SCRIPTS)))
    .addHelpText(
      "after",
      `
Examples:
  colloquy completion bash > ~/.local/share/bash-completion/completions/colloquy
  colloquy completion zsh > "\${fpath[1]}/_colloquy"
  colloquy completion fish > ~/.config/fish/completions/colloquy.fish`,
    )
    .action((shell: Shell) => output.write(SCRIPTS[shell](commandTree(program))));
}

interface CompletedOption {
  /** `--json`, `-v`. */
  readonly names: readonly string[];
  readonly about: string;
  /** True if a value follows. `choices` are the allowed values; empty allows any. */
  readonly takesValue: boolean;
  readonly choices: readonly string[];
}

interface CompletedCommand {
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

function commandTree(command: Command, path = ""): readonly CompletedCommand[] {
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
  const paths = below.map((one) => commandTree(one, path === "" ? one.name() : `${path} ${one.name()}`));
  return [completed, ...paths.flat()];
}

/** Returns a script for bash 3.2 and newer that does not depend on the bash-completion package. */
function bashScript(commands: readonly CompletedCommand[]): string {
  const paths = commands.filter(({ path }) => path !== "").map(({ path }) => shellQuoted(path));
  return `# Completion of colloquy for bash, made by "colloquy completion bash".
_colloquy() {
  local word="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}" path="" words="" at
  COMPREPLY=()
  for ((at = 1; at < COMP_CWORD; at++)); do
    case "\${path:+$path }\${COMP_WORDS[at]}" in
      ${paths.join(" | ")}) path="\${path:+$path }\${COMP_WORDS[at]}" ;;
    esac
  done
  case "$path $before" in
${bashValues(commands)}
  esac
  case "$path" in
${commands.map(bashWords).join("\n")}
  esac
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}
complete -F _colloquy colloquy
`;
}

/** After an option that takes a value, only that value is completed. */
function bashValues(commands: readonly CompletedCommand[]): string {
  return commands
    .flatMap(({ path, options }) =>
      options
        .filter(({ takesValue }) => takesValue)
        .map(({ names, choices }) => {
          const patterns = names.map((name) => shellQuoted(`${path} ${name}`)).join(" | ");
          const reply =
            choices.length === 0
              ? 'COMPREPLY=($(compgen -f -- "$word"))'
              : `COMPREPLY=($(compgen -W ${shellQuoted(choices.join(" "))} -- "$word"))`;
          return `    ${patterns}) ${reply}; return ;;`;
        }),
    )
    .join("\n");
}

function bashWords({ path, options, commands, choices, takesFile }: CompletedCommand): string {
  const words = [...commands.map(({ name }) => name), ...choices, ...options.flatMap(({ names }) => names)];
  const files = takesFile ? ' [[ $word == -* ]] || { COMPREPLY=($(compgen -f -- "$word")); return; };' : "";
  return `    ${shellQuoted(path)}) words=${shellQuoted(words.join(" "))};${files} ;;`;
}

function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** Returns a script for the zsh completion system, with a function for each command. */
function zshScript(commands: readonly CompletedCommand[]): string {
  return `#compdef colloquy
# Completion of colloquy for zsh, made by "colloquy completion zsh".
${commands.map(zshFunction).join("\n")}
if [[ "$funcstack[1]" == _colloquy ]]; then
  _colloquy "$@"
else
  compdef _colloquy colloquy
fi
`;
}

function zshFunction({ path, options, commands, choices, takesFile }: CompletedCommand): string {
  const specifications = options.map(zshSpecification);
  if (commands.length > 0) {
    const described = commands.map(({ name, about }) =>
      shellQuoted(`${name}:${about.replaceAll(":", "\\:")}`),
    );
    const cases = commands.map(
      ({ name }) => `        ${name}) ${zshName(path === "" ? name : `${path} ${name}`)} ;;`,
    );
    return `${zshName(path)}() {
  local context state state_descr line
  typeset -A opt_args
  local -a commands=(${described.join(" ")})
  _arguments -C ${[...specifications, "'1: :->command'", "'*:: :->rest'"].join(" ")}
  case "$state" in
    command) _describe command commands ;;
    rest)
      case "$line[1]" in
${cases.join("\n")}
      esac ;;
  esac
}`;
  }
  const first = choices.length > 0 ? [shellQuoted(`1: :(${choices.join(" ")})`)] : [];
  const rest = takesFile ? ["'*: :_files'"] : [];
  return `${zshName(path)}() {
  _arguments ${[...specifications, ...first, ...rest].join(" ")}
}`;
}

function zshSpecification({ names, about, takesValue, choices }: CompletedOption): string {
  const description = about.replaceAll(/[[\]:]/g, "\\$&");
  const value = choices.length > 0 ? `: :(${choices.join(" ")})` : takesValue ? ": :_files" : "";
  const exclusive = names.length > 1 ? `(${names.join(" ")})` : "";
  return names.map((name) => shellQuoted(`${exclusive}${name}[${description}]${value}`)).join(" ");
}

function zshName(path: string): string {
  return `_colloquy${path === "" ? "" : `_${path.replaceAll(" ", "_")}`}`;
}

/** Returns a script for fish with one line for each completion. */
function fishScript(commands: readonly CompletedCommand[]): string {
  return `# Completion of colloquy for fish, made by "colloquy completion fish".
complete -c colloquy -f
${commands.flatMap(fishLines).join("\n")}
`;
}

function fishLines({ path, options, commands, choices, takesFile }: CompletedCommand): readonly string[] {
  const names = commands.map(({ name }) => name);
  const seen = path.split(" ").map((word) => `__fish_seen_subcommand_from ${word}`);
  const parents = path === "" ? [] : seen;
  const unlessBelow = names.length === 0 ? [] : [`not __fish_seen_subcommand_from ${names.join(" ")}`];
  const condition = [...parents, ...unlessBelow].join("; and ");
  const when = condition === "" ? "" : ` -n ${fishQuoted(condition)}`;
  return [
    ...commands.map(({ name, about }) => `complete -c colloquy${when} -a ${name} -d ${fishQuoted(about)}`),
    ...(choices.length === 0 ? [] : [`complete -c colloquy${when} -a ${fishQuoted(choices.join(" "))}`]),
    ...(takesFile ? [`complete -c colloquy${when} -F`] : []),
    ...options.map((option) => `complete -c colloquy${when} ${fishOption(option)}`),
  ];
}

function fishOption({ names, about, takesValue, choices }: CompletedOption): string {
  const flags = names.map((name) => (name.startsWith("--") ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`));
  const value = choices.length > 0 ? `-x -a ${fishQuoted(choices.join(" "))}` : takesValue ? "-r" : "";
  return [...flags, value, `-d ${fishQuoted(about)}`].filter((part) => part !== "").join(" ");
}

function fishQuoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}

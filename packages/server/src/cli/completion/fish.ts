import type { CompletedCommand, CompletedOption } from "./command-tree.ts";

/** Returns a script for fish with one line for each completion. */
export function fishScript(commands: readonly CompletedCommand[]): string {
  return `# Completion of colloquy for fish, made by "colloquy completion fish".
complete -c colloquy -f
${commands.flatMap((command) => linesOf(command)).join("\n")}
`;
}

function linesOf({ path, options, commands, choices, takesFile }: CompletedCommand): readonly string[] {
  const names = commands.map(({ name }) => name);
  const seen = path.split(" ").map((word) => `__fish_seen_subcommand_from ${word}`);
  const parents = path === "" ? [] : seen;
  const unlessBelow = names.length === 0 ? [] : [`not __fish_seen_subcommand_from ${names.join(" ")}`];
  const condition = [...parents, ...unlessBelow].join("; and ");
  const when = condition === "" ? "" : ` -n ${quoted(condition)}`;
  return [
    ...commands.map(({ name, about }) => `complete -c colloquy${when} -a ${name} -d ${quoted(about)}`),
    ...(choices.length === 0 ? [] : [`complete -c colloquy${when} -a ${quoted(choices.join(" "))}`]),
    ...(takesFile ? [`complete -c colloquy${when} -F`] : []),
    ...options.map((option) => `complete -c colloquy${when} ${optionOf(option)}`),
  ];
}

function optionOf({ names, about, takesValue, choices }: CompletedOption): string {
  const flags = names.map((name) => (name.startsWith("--") ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`));
  const value = choices.length > 0 ? `-x -a ${quoted(choices.join(" "))}` : takesValue ? "-r" : "";
  return [...flags, value, `-d ${quoted(about)}`].filter((part) => part !== "").join(" ");
}

function quoted(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}

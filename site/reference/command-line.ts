// The reference of the command line, from its commands.

import { commandLine } from "../../packages/server/src/cli/run.ts";
import type { CommandParts } from "../../packages/server/src/cli/command.ts";

type Command = ReturnType<typeof commandLine>;

/** Returns the page. Building the commands runs none of them, so they get no parts. */
export function commandLinePage(): string {
  const program = commandLine({ version: "", columns: 100 } as CommandParts);
  return [
    "# Commands",
    "Generated from the program; `colloquy COMMAND --help` prints the same. [The command line](../command-line.md) explains how to use it.",
    ...program.commands.flatMap((command) => sections(command, "colloquy")),
  ].join("\n\n");
}

function sections(command: Command, parent: string): readonly string[] {
  const name = `${parent} ${command.name()}`;
  const { examples, notes } = afterHelp(command);
  const described = [
    ...command.registeredArguments.map((one) => ({
      name: `<${one.name()}>`,
      about: one.description,
      choices: one.argChoices,
    })),
    ...command.options.map((one) => ({ name: one.flags, about: one.description, choices: one.argChoices })),
  ];
  const rows = described.map(({ name: option, about, choices }) => {
    const values = choices === undefined ? "" : ` (${choices.map((choice) => `\`${choice}\``).join(", ")})`;
    return `| \`${option.replaceAll("|", "\\|")}\` | ${about.replaceAll("|", "\\|")}${values} |`;
  });
  const own = [
    `${"#".repeat(name.split(" ").length)} \`${name}\``,
    sentence(command.description()),
    ...(command.commands.length > 0 ? [] : [`\`\`\`sh\n${name} ${command.usage()}\n\`\`\``]),
    ...(rows.length === 0 ? [] : [["| Option | Meaning |", "|---|---|", ...rows].join("\n")]),
    ...(examples === "" ? [] : ["Examples:", `\`\`\`sh\n${examples}\n\`\`\``]),
    ...notes,
  ];
  return [...own, ...command.commands.flatMap((one) => sections(one, name))];
}

/** Returns what the help shows after the options: examples, and paragraphs. */
function afterHelp(command: Command): { readonly examples: string; readonly notes: readonly string[] } {
  let text = "";
  command.configureOutput({ writeOut: (part) => (text += part), getOutHelpWidth: () => 200 });
  command.outputHelp();
  const after = text.slice(command.helpInformation().length).trim();
  const paragraphs = after.split(/\n{2,}/);
  const examples = paragraphs.find((one) => /^Examples?:/.test(one)) ?? "";
  return {
    examples: examples.replace(/^Examples?:\n/, "").replaceAll(/^ {2}/gm, ""),
    notes: paragraphs.filter((one) => one !== examples && one !== ""),
  };
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

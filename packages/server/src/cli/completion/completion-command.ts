import { Argument, type Command } from "commander";
import { type CommandParts } from "../command.ts";
import { bashScript } from "./bash.ts";
import { commandTree } from "./command-tree.ts";
import { fishScript } from "./fish.ts";
import { zshScript } from "./zsh.ts";

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

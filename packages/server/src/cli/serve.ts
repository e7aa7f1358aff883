import type { Command } from "commander";
import type { CommandParts, ExitCode } from "./command.ts";

export function addServeCommand(
  program: Command,
  parts: CommandParts,
  finish: (code: ExitCode) => void,
): void {
  program
    .command("serve")
    .description("start the service")
    .addHelpText(
      "after",
      `
Example:
  PORT=9000 colloquy serve

The log goes to standard output. SIGTERM and Ctrl-C shut the service down gracefully; SIGHUP reloads the configuration file.`,
    )
    .action(async () => finish(await parts.serve()));
}

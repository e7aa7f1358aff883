import type { Command } from "commander";
import { formatProblems } from "../config/problem.ts";
import { CommandFailure, type CommandParts, type ExitCode, printJson, printLine } from "./command.ts";

export function addCheckCommand(
  program: Command,
  parts: CommandParts,
  finish: (code: ExitCode) => void,
): void {
  program
    .command("check")
    .description("validate the configuration without starting the service")
    .option("--json", "print one JSON document: { ok, problems, warnings }")
    .addHelpText(
      "after",
      `
Examples:
  colloquy check
  COLLOQUY_CONFIG=staging.json colloquy check --json

Exits with 0 if the configuration is valid, with 2 if it is not. Writes nothing and prints no keys.`,
    )
    .action(async ({ json = false }: { readonly json?: boolean }) => finish(await check(parts, json)));
}

async function check(parts: CommandParts, json: boolean): Promise<ExitCode> {
  const loaded = await parts.loadConfig();
  const problems = loaded.ok ? [] : loaded.problems;
  const { warnings } = loaded;
  if (json) {
    printJson(parts, { ok: loaded.ok, problems, warnings });
    return loaded.ok ? 0 : 2;
  }
  for (const warning of warnings) parts.errors.write(`Warning: ${warning}\n`);
  if (!loaded.ok) throw new CommandFailure(formatProblems(loaded.problems), 2);
  const { source } = loaded;
  printLine(parts, `The configuration is valid${source === null ? " (there is no file)" : `: ${source}`}.`);
  return 0;
}

// The command line as a whole: every command there is, help, and which exit code a failure comes to.

import { Command, CommanderError } from "commander";
import { ServiceError } from "../core/errors.ts";
import { ColloquyError } from "@colloquy/client";
import { addChatCommand } from "./chat/chat-command.ts";
import { addCheckCommand } from "./check.ts";
import { CommandFailure, type CommandParts, type ExitCode } from "./command.ts";
import { addCompletionCommand } from "./completion/completion-command.ts";
import { addDoctorCommand } from "./doctor.ts";
import { addExportCommand } from "./export.ts";
import { harmlessLine, harmlessText } from "./harmless-text.ts";
import { addImportCommand } from "./import.ts";
import { addKeysCommand } from "./keys.ts";
import { addMigrateCommand } from "./migrate.ts";
import { addSecretsCommand } from "./secrets.ts";
import { addSessionsCommand } from "./sessions/sessions-command.ts";
import { addServeCommand } from "./serve.ts";

/** Adds a command to the program. One that has an exit code of its own hands it to `finish`. */
type AddCommand = (program: Command, parts: CommandParts, finish: (code: ExitCode) => void) => void;

const COMMANDS: readonly AddCommand[] = [
  addServeCommand,
  addChatCommand,
  addCheckCommand,
  addDoctorCommand,
  addSessionsCommand,
  addKeysCommand,
  addSecretsCommand,
  addMigrateCommand,
  addExportCommand,
  addImportCommand,
  addCompletionCommand,
];

const EXAMPLES = `
Examples:
  colloquy serve               start the service
  colloquy chat                talk with it, or without one that runs
  colloquy check               say whether it would start, without starting it
  colloquy COMMAND --help      explain a command

Environment variables, a file .env, and colloquy.config.ts, .js or .json say how the service runs: see docs/configuration.md.
Exit codes: 0 done, 1 could not, 2 wrong arguments or configuration, 130 ended by Ctrl-C, 143 by another signal.`;

/** What to do about errors of a service, by their code. */
const HINTS: Readonly<Record<string, string>> = {
  app_key_invalid: " The key of an App is taken from the environment variable COLLOQUY_APP_KEY.",
  session_not_found: " Without --session a new conversation begins.",
};

/** Runs what the arguments ask for, help where there are none, and answers the exit code. Never rejects. */
export async function runCommandLine(parameters: readonly string[], parts: CommandParts): Promise<ExitCode> {
  let exitCode: ExitCode = 0;
  const program = createProgram(parts);
  for (const add of COMMANDS) add(program, parts, (code) => (exitCode = code));
  try {
    await program.parseAsync(parameters.length === 0 ? ["--help"] : [...parameters], { from: "user" });
    return exitCode;
  } catch (error) {
    return explain(error, parts);
  }
}

function createProgram({ version, output, errors, columns }: CommandParts): Command {
  return new Command("colloquy")
    .description("A service that holds conversations between people and assistants.")
    .version(version, "-v, --version", "print the version")
    .helpOption("-h, --help", "explain the command")
    .addHelpText("after", EXAMPLES)
    .showHelpAfterError("Run colloquy --help to see what there is.")
    .configureOutput({
      writeOut: (text) => output.write(text),
      writeErr: (text) => errors.write(text),
      getOutHelpWidth: () => columns ?? 120,
      getErrHelpWidth: () => columns ?? 120,
      outputError: (text, write) => write(text.replace(/^error: /, "Colloquy: ")),
    })
    .exitOverride();
}

/** Says what went wrong, where commander has not done so already. */
function explain(error: unknown, { errors }: CommandParts): ExitCode {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  if (error instanceof CommandFailure) {
    errors.write(`${harmlessText(error.message)}\n`);
    return error.exitCode;
  }
  if (error instanceof ColloquyError) {
    errors.write(`Colloquy: ${harmlessLine(error.message)}${HINTS[error.code] ?? ""}\n`);
    return 1;
  }
  const reason = error instanceof ServiceError ? error.detail : String(error);
  errors.write(`Colloquy: ${harmlessText(reason.replace(/^Error: /, ""))}\n`);
  return 1;
}

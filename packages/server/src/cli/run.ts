// The command line: all commands, help, and exit codes of failures.

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

/** Adds a command to the program. The command passes an exit code of its own to `finish`. */
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
  colloquy chat                chat with it, or start one for the conversation
  colloquy check               validate the configuration
  colloquy COMMAND --help      show help for a command

Environment variables, a file .env, and colloquy.config.ts, .js or .json configure the service: see docs/configuration.md.
Exit codes: 0 success, 1 failure, 2 wrong arguments or configuration, 130 ended by Ctrl-C, 143 by another signal.`;

/** Advice for errors of the service, by error code. */
const HINTS: Readonly<Record<string, string>> = {
  app_key_invalid: " Set the key of the App in the environment variable COLLOQUY_APP_KEY.",
  session_not_found: " Omit --session to start a new conversation.",
};

/** Runs the command in the arguments, or prints help if there are none. Returns the exit code. Never rejects. */
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
    .helpOption("-h, --help", "show help")
    .addHelpText("after", EXAMPLES)
    .showHelpAfterError("Run colloquy --help for usage.")
    .configureOutput({
      writeOut: (text) => output.write(text),
      writeErr: (text) => errors.write(text),
      getOutHelpWidth: () => columns ?? 120,
      getErrHelpWidth: () => columns ?? 120,
      outputError: (text, write) => write(text.replace(/^error: /, "Colloquy: ")),
    })
    .exitOverride();
}

/** Prints the error, unless commander has already done so. */
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

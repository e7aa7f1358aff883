// The command line: all commands, help, and exit codes of failures.

import { Command, CommanderError } from "commander";
import { ColloquyError } from "@colloquy/client";
import { ServiceError } from "@colloquy/engine/internal/core/errors";
import type { Config } from "../config/config.ts";
import type { LoadedConfig } from "../config/load-config.ts";
import { formatProblems } from "@colloquy/engine/internal/config/problem";
import type { Finding, Health } from "@colloquy/engine/internal/core/finding";
import { addAcpCommand } from "./acp/acp-command.ts";
import { addChatCommand } from "./chat/chat-command.ts";
import { CommandFailure, type CommandParts, type ExitCode, printJson, printLine } from "./command.ts";
import { addCompletionCommand } from "./completion.ts";
import { addExportCommand } from "./export.ts";
import { harmlessLine, harmlessText } from "./terminal-text.ts";
import { addImportCommand } from "./import.ts";
import { addUsersCommand } from "./users.ts";
import { addApprovalsCommand } from "./approvals.ts";
import { addAuditCommand } from "./audit.ts";
import { addFeedbackCommand } from "./feedback.ts";
import { addKeysCommand } from "./keys.ts";
import { addMigrateCommand } from "./migrate.ts";
import { addPluginCommands } from "./plugin-command.ts";
import { addSchemaCommand } from "./schema.ts";
import { addSecretsCommand } from "./secrets.ts";
import { addSeedCommand } from "./seed.ts";
import { addDevCommand, addServeCommand } from "./serve.ts";
import { addSessionsCommand } from "./sessions/sessions-command.ts";

type AddCommand = (program: Command, parts: CommandParts, finish: (code: ExitCode) => void) => void;

const COMMANDS: readonly AddCommand[] = [
  addServeCommand,
  addDevCommand,
  addChatCommand,
  addAcpCommand,
  addCheckCommand,
  addDoctorCommand,
  addSchemaCommand,
  addSessionsCommand,
  addSeedCommand,
  addKeysCommand,
  addAuditCommand,
  addFeedbackCommand,
  addApprovalsCommand,
  addUsersCommand,
  addSecretsCommand,
  addMigrateCommand,
  addExportCommand,
  addImportCommand,
  addCompletionCommand,
];

const EXAMPLES = `
Examples:
  colloquy dev                 start the service, and again on every change of its files
  colloquy serve               start the service
  colloquy chat                chat with it, or start one for the conversation
  colloquy check               validate the configuration
  colloquy COMMAND --help      show help for a command

Environment variables, a file .env, and colloquy.config.ts, .mts, .js, .mjs or .json configure the service: see docs/configuration.md.
Exit codes: 0 success, 1 failure, 2 wrong arguments or configuration, 130 ended by Ctrl-C, 143 by another signal.`;

/** Advice for errors of the service, by error code. */
const HINTS: Readonly<Record<string, string>> = {
  app_key_invalid: " Set the key of the App in the environment variable COLLOQUY_APP_KEY.",
  session_not_found: " Omit --session to start a new conversation.",
};

/** Runs the command in the arguments, or prints help if there are none. Returns the exit code. Never rejects. */
export async function runCommandLine(parameters: readonly string[], parts: CommandParts): Promise<ExitCode> {
  let exitCode: ExitCode = 0;
  const program = commandLine(parts, (code) => (exitCode = code));
  try {
    await addPluginCommands(program, parts, parameters);
    await program.parseAsync(parameters.length === 0 ? ["--help"] : [...parameters], { from: "user" });
    return exitCode;
  } catch (error) {
    return explain(error, parts);
  }
}

/** Returns the program with all its commands. A command passes an exit code of its own to `finish`. */
export function commandLine(parts: CommandParts, finish: (code: ExitCode) => void = () => {}): Command {
  const program = createProgram(parts);
  for (const add of COMMANDS) add(program, parts, finish);
  return program;
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
  errors.write(`Colloquy: ${harmlessText(reasonOf(error).replace(/^Error: /, ""))}\n`);
  return 1;
}

function reasonOf(error: unknown): string {
  if (error instanceof ServiceError) return error.detail;
  if (!(error instanceof Error && "code" in error && error.code === "ERR_SQLITE_ERROR")) return String(error);
  return `The database cannot be used: ${error.message}. See that its disk works and has space, then run the command again.`;
}

function addCheckCommand(program: Command, parts: CommandParts, finish: (code: ExitCode) => void): void {
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

Exits with 0 if the configuration is valid, with 2 if it is not. Lists the tools of MCP servers, OpenAPI services and plugins: warns of those
that cannot be listed now, and rejects "approvals" for tools that a source does not list.
Writes nothing and prints no keys.`,
    )
    .action(async ({ json = false }: { readonly json?: boolean }) => finish(await check(parts, json)));
}

async function checkTools(
  config: Config,
  file: string,
): Promise<Pick<LoadedConfig & { readonly ok: false }, "problems" | "warnings">> {
  const { listToolSources, toolFindings, unknownApprovals } = await import("../doctor/tool-sources.ts");
  const listed = await listToolSources(config);
  const warnings = toolFindings(listed).filter(({ health }) => health === "warning");
  return { problems: unknownApprovals(listed, file), warnings: warnings.map(({ found }) => found) };
}

async function check(parts: CommandParts, json: boolean): Promise<ExitCode> {
  const loaded = await parts.loadConfig();
  const source = loaded.ok ? loaded.source : null;
  const tools = loaded.ok ? await checkTools(loaded.config, source ?? "") : { problems: [], warnings: [] };
  const problems = loaded.ok ? tools.problems : loaded.problems;
  const warnings = [...loaded.warnings, ...tools.warnings];
  const isOk = problems.length === 0;
  if (json) {
    printJson(parts, { ok: isOk, problems, warnings });
    return isOk ? 0 : 2;
  }
  for (const warning of warnings) parts.errors.write(`Warning: ${warning}\n`);
  if (!isOk)
    throw new CommandFailure(
      loaded.ok ? formatProblems(problems, "The configuration has") : formatProblems(problems),
      2,
    );
  printLine(
    parts,
    `The configuration is valid${source === null ? " (there is no colloquy.config.json)" : `: ${source}`}.`,
  );
  return 0;
}

const SIGNS: Readonly<Record<Health, string>> = {
  ok: "ok     ",
  warning: "WARNING",
  broken: "BROKEN ",
  skipped: "-      ",
};

function addDoctorCommand(program: Command, parts: CommandParts, finish: (code: ExitCode) => void): void {
  program
    .command("doctor")
    .description(
      "check configuration, disk, database, clock, bus, keys and tool sources, and say what to fix",
    )
    .option("--models", "also call each model that an App uses (costs a few tokens)")
    .option("--json", "print one JSON document: { ok, findings }")
    .addHelpText(
      "after",
      `
Examples:
  colloquy doctor
  colloquy doctor --models
  colloquy doctor --json

Changes nothing and works beside a running server. Exits with 1 if something is broken, otherwise with 0, even after warnings. Prints no
keys and no passwords.`,
    )
    .action(async ({ json = false, models = false }: DoctorOptions) =>
      finish(await examineWith(parts, { json, models })),
    );
}

interface DoctorOptions {
  readonly json?: boolean;
  readonly models?: boolean;
}

async function examineWith(
  parts: CommandParts,
  { json, models }: Required<DoctorOptions>,
): Promise<ExitCode> {
  const { examine } = await import("../doctor/examine.ts");
  const findings = await examine(await parts.loadConfig(), { models });
  const isOk = findings.every(({ health }) => health !== "broken");
  if (json) printJson(parts, { ok: isOk, findings });
  else for (const finding of findings) for (const line of linesOf(finding)) printLine(parts, line);
  return isOk ? 0 : 1;
}

function linesOf({ about, health, found, mend, details = [] }: Finding): readonly string[] {
  const first = `${SIGNS[health]}  ${about.padEnd("data directory".length)}  ${found}`;
  const more = mend === null ? details : [mend, ...details];
  return [first, ...more.map((line) => " ".repeat(27) + line)];
}

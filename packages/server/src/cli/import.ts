import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import type { Command } from "commander";
import { describeFileError } from "@colloquy/engine/internal/core/file-error";
import type { ImportedSession } from "../moving/import.ts";
import { administer, CommandFailure, type CommandParts, printJson, printLine } from "./command.ts";

interface ImportOptions {
  readonly replace?: boolean;
  readonly json?: boolean;
}

const STANDARD_INPUT = 0;

export function addImportCommand(program: Command, parts: CommandParts): void {
  program
    .command("import <file>")
    .description("import sessions from a file written by colloquy export; - is standard input")
    .option("--replace", "replace sessions that already exist; without it they are refused")
    .option("--json", "print one JSON document")
    .addHelpText(
      "after",
      `
Examples:
  colloquy import session.jsonl
  colloquy import - < wallet.jsonl
  colloquy import --replace session.jsonl

Each session is imported completely or not at all. Works beside a running server, except for --replace on SQLite, because a server keeps
sessions in memory. Exits with 1 if a session was refused, and prints its line number.`,
    )
    .action((file: string, options: ImportOptions) => importWith(parts, file, options));
}

async function importWith(parts: CommandParts, file: string, options: ImportOptions): Promise<void> {
  const { replace = false, json = false } = options;
  const { importSessions } = await import("../moving/import.ts");
  const sessions: ImportedSession[] = [];
  await administer(parts, "made when absent", async (local) => {
    const isShared = local.settings.backend?.plugin.nodes !== undefined;
    const access = replace && !isShared ? "alone" : "beside";
    const onSession = (session: ImportedSession): void => {
      sessions.push(session);
      if (!json) printSession(parts, session);
    };
    await local.withFiles((files) =>
      local.withTables(access, (store) =>
        importSessions(store, linesOf(file), { replace, at: Date.now(), files, onSession }),
      ),
    );
  });
  if (json) printJson(parts, sessions.map(asJson));
  const refused = sessions.filter(({ outcome }) => outcome === "refused").length;
  if (refused > 0) {
    const rest = refused === sessions.length ? "Nothing was imported." : "The others were imported.";
    throw new CommandFailure(`Colloquy: ${refused} of ${sessions.length} were refused. ${rest}`);
  }
}

/** Reads the lines and removes the byte order mark that some editors add. */
async function* linesOf(file: string): AsyncGenerator<string> {
  const input = file === "-" ? createReadStream("", { fd: STANDARD_INPUT }) : createReadStream(file);
  const lines = createInterface({ input, crlfDelay: Infinity });
  let failure: Error | null = null;
  input.once("error", (error) => {
    failure = error;
    lines.close();
  });
  try {
    for await (const line of lines) yield line.replace(/^\uFEFF/, "");
  } catch (error) {
    failure ??= error instanceof Error ? error : new Error(String(error));
  }
  if (failure === null) return;
  const advice = "Name a file that colloquy export has written and that you can read.";
  throw new CommandFailure(`Colloquy: ${describeFileError(file, failure, advice)}`);
}

function printSession(parts: CommandParts, { id, line, outcome, problem }: ImportedSession): void {
  if (outcome === "refused")
    parts.errors.write(`Line ${line} ${problem}.${id === null ? "" : ` Session ${id} was skipped.`}\n`);
  else printLine(parts, `${id} ${outcome}`);
}

/** Uses the field names of the HTTP API. */
function asJson({ id, line, outcome, problem }: ImportedSession): object {
  return { session_id: id, line, outcome, problem };
}

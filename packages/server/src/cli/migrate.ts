import type { Command } from "commander";
import type { DatabaseAddress } from "../moving/database-address.ts";
import type { MoveReport } from "../moving/migrate.ts";
import { CommandFailure, type CommandParts, printJson, printLine } from "./command.ts";
import { createProgress } from "./progress.ts";

interface MigrateOptions {
  readonly from: string;
  readonly to: string;
  readonly restart?: boolean;
  readonly json?: boolean;
}

const PHASES = { copy: "Copying  ", verify: "Comparing" } as const;

const NEXT: Readonly<Record<MoveReport["outcome"], string>> = {
  moved: "Everything is there, and the same row by row.",
  resumed: "Everything is there, and the same row by row. It went on where it had been stopped.",
  before: "It had been moved before, and is still the same row by row.",
};

export function addMigrateCommand(program: Command, parts: CommandParts): void {
  program
    .command("migrate")
    .description("move everything from one database to another, to PostgreSQL or back")
    .requiredOption("--from <database>", "where everything is: sqlite:PATH or postgres://…")
    .requiredOption("--to <database>", "where it is to be: empty, or what an unfinished move has left")
    .option("--restart", "remove what an unfinished move has left in the target, and begin anew")
    .option("--json", "print one JSON document")
    .addHelpText(
      "after",
      `
Examples:
  colloquy migrate --from sqlite:./data --to postgres://colloquy@db.example/colloquy
  colloquy migrate --from postgres://colloquy@db.example/colloquy --to sqlite:./data

No server may be running on either of the two. Stopped half-way, run it again: it goes on where it was, and until it is done every
server refuses to start on the target. The source stays as it was. A password is better in PGPASSWORD than on the command line.
docs/moving.md says what to do before and after.`,
    )
    .action(async (options: MigrateOptions) => {
      const report = await migrateWith(parts, options);
      if (options.json === true) return printJson(parts, asJson(report));
      for (const line of describe(report)) printLine(parts, line);
    });
}

async function migrateWith(parts: CommandParts, options: MigrateOptions): Promise<MoveReport> {
  const [{ parseDatabaseAddress }, { migrate }] = await Promise.all([
    import("../moving/database-address.ts"),
    import("../moving/migrate.ts"),
  ]);
  const addressOf = (option: string, text: string): DatabaseAddress => {
    const parsed = parseDatabaseAddress(text);
    if ("problem" in parsed) throw new CommandFailure(`Colloquy: ${option}: ${parsed.problem}`, 2);
    return parsed.address;
  };
  const [from, to] = [addressOf("--from", options.from), addressOf("--to", options.to)];
  // With --json the output is one document, and nothing else.
  const progress = createProgress(options.json === true ? { ...parts, columns: null } : parts);
  try {
    return await migrate({
      from,
      to,
      restart: options.restart ?? false,
      at: Date.now(),
      onStep: ({ phase, done, total }) => progress.show(PHASES[phase], done, total),
    });
  } finally {
    progress.end();
  }
}

function describe({ from, to, outcome, tables }: MoveReport): readonly string[] {
  const width = Math.max(...tables.map(({ table }) => table.length));
  const rows = Math.max(...tables.map(({ target }) => String(target.rows).length));
  return [
    `From ${from} to ${to}. ${NEXT[outcome]}`,
    "",
    ...tables.map(
      ({ table, target }) =>
        `${table.padEnd(width)}  ${String(target.rows).padStart(rows)} rows  ${target.checksum.slice(0, 16)}`,
    ),
    ...secretsHint(tables),
  ];
}

function secretsHint(tables: MoveReport["tables"]): readonly string[] {
  const secrets = tables.find(({ table }) => table === "secrets")?.target.rows ?? 0;
  if (secrets === 0) return [];
  return [
    "",
    "Secrets of Apps are sealed by a master key, which does not move. It is in COLLOQUY_SECRET_KEY, or in the file secret.key of the",
    "old data directory: set COLLOQUY_SECRET_KEY to what is in that file on every node, or copy the file to the new data directory.",
  ];
}

function asJson({ from, to, outcome, tables }: MoveReport): object {
  return {
    from,
    to,
    outcome,
    tables: tables.map(({ table, target }) => ({
      table,
      rows: target.rows,
      sha256: target.checksum,
    })),
  };
}

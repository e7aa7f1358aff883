import { Writable } from "node:stream";
// Default import, because Node does not detect all named exports of this CommonJS package.
import cliProgress, { type SingleBar } from "cli-progress";
import type { Command } from "commander";
import type { DatabaseAddress } from "../moving/database-address.ts";
import type { MoveReport } from "../moving/migrate.ts";
import { CommandFailure, type CommandParts, printJson, printLine } from "./command.ts";

interface MigrateOptions {
  readonly from: string;
  readonly to: string;
  readonly restart?: boolean;
  readonly json?: boolean;
}

const PHASES = { copy: "Copying  ", verify: "Comparing" } as const;

const NEXT: Readonly<Record<MoveReport["outcome"], string>> = {
  moved: "All rows are copied and verified.",
  resumed: "All rows are copied and verified. The move resumed where it had stopped.",
  before: "The move was already complete, and all rows still match.",
};

export function addMigrateCommand(program: Command, parts: CommandParts): void {
  program
    .command("migrate")
    .description("move everything from one database to another, to PostgreSQL or back")
    .requiredOption("--from <database>", "source: sqlite:PATH or postgres://…")
    .requiredOption("--to <database>", "target: empty, or left over from an unfinished move")
    .option("--restart", "remove what an unfinished move left in the target, and start over")
    .option("--json", "print one JSON document")
    .addHelpText(
      "after",
      `
Examples:
  colloquy migrate --from sqlite:./data --to postgres://colloquy@db.example/colloquy
  colloquy migrate --from postgres://colloquy@db.example/colloquy --to sqlite:./data

Stop all servers on both databases first. If interrupted, run it again: it resumes, and until it is done servers refuse to start on the
target. The source is not changed. Put passwords in PGPASSWORD rather than on the command line. docs/moving.md says what to do before and
after.`,
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
  // With --json, standard output contains only the document.
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
    "Secrets of Apps are encrypted with a master key, which is not moved. It is in COLLOQUY_SECRET_KEY or in the file secret.key of the old",
    "data directory: set COLLOQUY_SECRET_KEY to the content of that file on every node, or copy the file to the new data directory.",
  ];
}

function asJson({ from, to, outcome, tables }: MoveReport): object {
  return {
    from,
    to,
    outcome,
    tables: tables.map(({ table, target: { rows, checksum } }) => ({ table, rows, sha256: checksum })),
  };
}

/** Milliseconds between two lines of progress. */
const BETWEEN_LINES_MS = 5000;

interface Progress {
  /** Shows `done` of `total` rows. A new `what` starts a new bar. */
  show(what: string, done: number, total: number): void;
  /** Stops updating; the output stays on the screen. */
  end(): void;
}

/** Shows progress as a bar on a terminal, otherwise as a line every few seconds. `now` returns monotonic milliseconds. */
export function createProgress(parts: CommandParts, now: () => number = () => performance.now()): Progress {
  const isPlain = (parts.environment["NO_COLOR"] ?? "") !== "";
  return parts.columns === null || isPlain ? createLines(parts, now) : createBar(parts, parts.columns);
}

function createLines({ errors }: CommandParts, now: () => number): Progress {
  let shown = "";
  let nextAt = 0;
  let isComplete = false;
  return {
    show(what, done, total) {
      if (what !== shown) isComplete = false;
      const isEnd = done >= total && !isComplete;
      if (what === shown && now() < nextAt && !isEnd) return;
      shown = what;
      isComplete = done >= total;
      nextAt = now() + BETWEEN_LINES_MS;
      errors.write(`${what}: ${done} of ${total} rows\n`);
    },
    end() {},
  };
}

function createBar({ output }: CommandParts, columns: number): Progress {
  const written = new Writable({
    decodeStrings: false,
    write(text, _encoding, done) {
      output.write(String(text));
      done();
    },
  });
  const stream = Object.assign(written, { isTTY: true, columns });
  let bar: SingleBar | null = null;
  let shown = "";
  const end = (): void => {
    bar?.stop();
    bar = null;
  };
  return {
    show(what, done, total) {
      if (what !== shown) {
        end();
        shown = what;
        bar = createSingleBar(stream);
        bar.start(total, done, { what });
      }
      bar?.update(done);
    },
    end,
  };
}

function createSingleBar(stream: NodeJS.WritableStream): SingleBar {
  return new cliProgress.SingleBar({
    stream,
    format: "{what} [{bar}] {percentage}% | {value} of {total} rows | {eta_formatted} left",
    barCompleteChar: "#",
    barIncompleteChar: "-",
    hideCursor: true,
    // Leave signal handling to the process.
    gracefulExit: false,
    emptyOnZero: false,
  });
}

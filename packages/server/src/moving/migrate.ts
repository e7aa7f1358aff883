// Copies a store from one database to another, page by page, without changing the source. Servers refuse to start on the
// target until all rows are copied and verified.

import { createHash } from "node:crypto";
import { z } from "zod";
import type {
  Extract,
  Table,
  TableReader,
  TableRow,
  TableStore,
  TableWriter,
} from "@colloquy/engine/internal/core/ports/driven/table-store";
import { type DatabaseAddress, isSameDatabase, withTables } from "./database-address.ts";
import { keyOf, movedTables, convertRow, PAGE, readRows } from "./moved-tables.ts";

export interface MoveStep {
  readonly phase: "copy" | "verify";
  readonly table: string;
  /** Rows processed in this phase, of all tables. */
  readonly done: number;
  readonly total: number;
}

export interface MoveOptions {
  readonly from: DatabaseAddress;
  readonly to: DatabaseAddress;
  /** Clears the data of an unfinished move in the target and starts over. */
  readonly restart: boolean;
  /** The current time in milliseconds since the Unix epoch. */
  readonly at: number;
  /** Maximum rows copied in one transaction; defaults to 1,000. */
  readonly rowsAtOnce?: number;
  /** Called after every page. */
  readonly onStep: (step: MoveStep) => void;
}

export interface MoveReport {
  readonly from: string;
  readonly to: string;
  /** `before` means that the move was already complete and was verified again. */
  readonly outcome: "moved" | "resumed" | "before";
  readonly tables: readonly ComparedTable[];
}

/**
 * Resolves when all rows are copied and verified. Rejects with a message for the user if both databases are the same, a
 * server uses one of them, the target has other data, or verification fails; then servers keep refusing the target.
 */
export async function migrate(options: MoveOptions): Promise<MoveReport> {
  const { from, to, at } = options;
  if (await isSameDatabase(from, to)) {
    throw new Error("--from and --to name the same database. Name an empty one to move to.");
  }
  return await withTables(from, { access: "source", at }, (source) =>
    withTables(to, { access: "target", at }, async (target) => {
      return await source.read((reader) => moveTables({ source, reader, target }, options));
    }),
  );
}

/** The two open databases. `reader` reads a consistent snapshot of the source. */
export interface Move {
  readonly source: TableStore;
  readonly reader: TableReader;
  readonly target: TableStore;
}

/** Like `migrate`. After a failure or crash, the next call with the same databases resumes. */
export async function moveTables(
  { source, reader, target }: Move,
  options: Omit<MoveOptions, "from" | "to" | "at">,
): Promise<MoveReport> {
  const { restart, rowsAtOnce = PAGE.rows, onStep } = options;
  const tables = movedTables(source, target);
  const { progress, outcome } = await begin(source.place, target, tables, restart);
  let total = 0;
  for (const table of tables) total += await reader.count(table);
  const report = (phase: MoveStep["phase"]) => (table: string, done: number) =>
    onStep({ phase, table, done, total });
  if (outcome !== "before") {
    await copy(reader, target, tables, progress, { ...PAGE, rows: rowsAtOnce }, report("copy"));
  }
  const compared = await compare(reader, target, tables, report("verify"));
  const result: MoveReport = { from: source.place, to: target.place, outcome, tables: compared };
  refuseDifferences(result);
  if (outcome !== "before") {
    await target.change((writer) => writeProgress(writer, progress, true));
    await target.tidy();
  }
  return result;
}

/** Tables that a start of the service fills. Their rows do not count, and the source's replace them. */
const OVERWRITTEN: readonly string[] = ["handle_key"];

/** Marks an empty target as closed to servers, or returns the progress of the same unfinished move. */
async function begin(
  from: string,
  target: TableStore,
  tables: readonly Table[],
  restart: boolean,
): Promise<{ readonly progress: MoveProgress; readonly outcome: MoveReport["outcome"] }> {
  const known = await readProgress(target);
  const isOurs = known?.progress.from === from;
  if (known?.isFinished === false && !isOurs && !restart) {
    throw new Error(
      `${target.place} is the target of an unfinished move from ${known.progress.from}. Run that move again, or discard what it has copied with --restart.`,
    );
  }
  if (known?.isFinished === false && !restart) return { progress: known.progress, outcome: "resumed" };
  const progress: MoveProgress = { from, tables: {} };
  if (known?.isFinished === false) {
    await target.change(async (writer) => {
      for (const table of tables) await writer.remove(table, null);
      await writeProgress(writer, progress, false);
    });
    return { progress, outcome: "moved" };
  }
  const filled = await firstFilled(
    target,
    tables.filter(({ name }) => !OVERWRITTEN.includes(name)),
  );
  if (filled !== null && known !== null && isOurs) return { progress, outcome: "before" };
  if (filled !== null) {
    throw new Error(
      `${target.place} is not empty: its table ${filled} has rows. Move into an empty database, or an empty directory.`,
    );
  }
  await target.change(async (writer) => {
    for (const table of tables.filter(({ name }) => OVERWRITTEN.includes(name)))
      await writer.remove(table, null);
    await writeProgress(writer, progress, false);
  });
  await refuseServedNow(target, progress);
  return { progress, outcome: "moved" };
}

/**
 * Checks again for a server on the target: one that started between the first check and the mark has not seen
 * the mark.
 */
async function refuseServedNow(target: TableStore, progress: MoveProgress): Promise<void> {
  try {
    await target.refuseServed();
  } catch (error) {
    await target.change((writer) => writeProgress(writer, progress, true));
    throw error;
  }
}

async function firstFilled(target: TableStore, tables: readonly Table[]): Promise<string | null> {
  return await target.read(async (reader) => {
    for (const table of tables) {
      const rows = await reader.extract(table, { after: null, rows: 1, characters: 1 });
      if (rows.length > 0) return table.name;
    }
    return null;
  });
}

async function copy(
  source: TableReader,
  target: TableStore,
  tables: readonly Table[],
  progress: MoveProgress,
  part: Pick<Extract, "rows" | "characters">,
  onRows: (table: string, done: number) => void,
): Promise<void> {
  let done = Object.values(progress.tables).reduce((sum, { rows }) => sum + rows, 0);
  for (const table of tables) {
    let state = progress.tables[table.name] ?? NO_ROWS;
    while (!state.isDone) {
      const rows = await source.extract(table, { ...part, after: state.after });
      const last = rows.at(-1);
      state =
        last === undefined
          ? { ...state, isDone: true }
          : { after: [...keyOf(table, last)], rows: state.rows + rows.length, isDone: false };
      progress.tables[table.name] = state;
      const converted = rows.map((row) => convertRow(table, row));
      await target.change(async (writer) => {
        await writer.insert(table, converted);
        await writeProgress(writer, progress, false);
      });
      done += rows.length;
      onRows(table.name, done);
    }
  }
  const sequences = await source.sequences();
  await target.change(async (writer) => {
    for (const [name, number] of Object.entries(sequences)) await writer.raise(name, number);
  });
}

async function compare(
  source: TableReader,
  target: TableStore,
  tables: readonly Table[],
  onRows: (table: string, done: number) => void,
): Promise<readonly ComparedTable[]> {
  let done = 0;
  return await target.read(async (reader) => {
    const compared: ComparedTable[] = [];
    for (const table of tables) {
      const onRow = (): void => {
        done += 1;
        if (done % PAGE.rows === 0) onRows(table.name, done);
      };
      compared.push(await compareTable(table, source, reader, onRow));
      onRows(table.name, done);
    }
    return compared;
  });
}

function refuseDifferences({ from, to, outcome, tables }: MoveReport): void {
  const different = tables.filter(({ firstDifference }) => firstDifference !== null);
  if (different.length === 0) return;
  const list = different.map(
    ({ table, source, target, firstDifference }) =>
      `  - ${table}: ${source.rows} rows in the source, ${target.rows} in the target; first difference at ${JSON.stringify(firstDifference)}`,
  );
  const why =
    outcome === "before"
      ? "An earlier move was complete, and one of the databases has been used since. Nothing was changed. Move into an empty database."
      : "One of them was changed after it was copied. Servers refuse to start on the target. Start over with --restart.";
  throw new Error(`${to} differs from ${from}:\n${list.join("\n")}\n${why}`);
}

// Progress of a move. It is stored in the target and updated in the transaction that writes the rows, so that both survive
// a crash or neither does.

const cell = z.union([z.string(), z.number(), z.null()]);
const tableProgress = z.object({
  /** Key of the last written row; `null` if there is none. */
  after: z.array(cell).nullable(),
  rows: z.number(),
  isDone: z.boolean(),
});
const moveProgress = z.object({
  /** Name of the source, as `TableStore.place`. */
  from: z.string(),
  tables: z.record(z.string(), tableProgress),
});

type MoveProgress = z.infer<typeof moveProgress>;

const NO_ROWS: z.infer<typeof tableProgress> = { after: null, rows: 0, isDone: false };

/** Returns the recorded move into this database; `null` if there is none. */
async function readProgress(target: TableStore) {
  const record = await target.read((reader) => reader.moveNote());
  if (record === null) return null;
  const parsed = moveProgress.safeParse(JSON.parse(record.text));
  if (!parsed.success) {
    throw new Error(
      `${target.place} is the target of a move by another version of Colloquy. Finish it with that version.`,
    );
  }
  return { progress: parsed.data, isFinished: record.isFinished };
}

/** Runs in the transaction of `writer`. */
function writeProgress(writer: TableWriter, progress: MoveProgress, isFinished: boolean): Promise<void> {
  return writer.noteMove({ isFinished, text: JSON.stringify(progress) });
}

/** Row count and checksum of a table on one side. */
export interface TableSum {
  readonly rows: number;
  /** Hexadecimal SHA-256 of all rows in key order. */
  readonly checksum: string;
}

export interface ComparedTable {
  readonly table: string;
  readonly source: TableSum;
  readonly target: TableSum;
  /** Key of the first row that differs; `null` if the tables are equal. */
  readonly firstDifference: TableRow | null;
}

/** Compares the converted rows of the source with the target. Calls `onRow` after each row of the source. */
async function compareTable(
  table: Table,
  source: TableReader,
  target: TableReader,
  onRow: () => void,
): Promise<ComparedTable> {
  const [sourceRows, targetRows] = [readRows(source, table), readRows(target, table)];
  const [sourceSum, targetSum] = [createSum(), createSum()];
  let firstDifference: TableRow | null = null;
  for (;;) {
    const [left, right] = [await sourceRows.next(), await targetRows.next()];
    if (left.done === true && right.done === true) break;
    const expected = left.done === true ? null : convertRow(table, left.value);
    const found = right.done === true ? null : right.value;
    const [leftText, rightText] = [sourceSum.add(expected), targetSum.add(found)];
    if (leftText !== rightText) firstDifference ??= keyOf(table, expected ?? found ?? []);
    if (expected !== null) onRow();
  }
  return { table: table.name, source: sourceSum.end(), target: targetSum.end(), firstDifference };
}

function createSum(): { add(row: TableRow | null): string | null; end(): TableSum } {
  const hash = createHash("sha256");
  let rows = 0;
  return {
    add(row) {
      if (row === null) return null;
      const text = JSON.stringify(row);
      hash.update(text).update("\n");
      rows += 1;
      return text;
    },
    end: () => ({ rows, checksum: hash.digest("hex") }),
  };
}

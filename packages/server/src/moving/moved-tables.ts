// The tables to move, and the conversion of rows. Tables that are not named here are copied unchanged.

import type {
  Cell,
  Table,
  TableReader,
  TableRow,
  TableStore,
  Where,
} from "@colloquy/engine/internal/core/ports/driven/table-store";

/** Maximum rows, and approximate characters, per read. A move holds a few times this in memory. */
export const PAGE = { rows: 1000, characters: 2_000_000 } as const;

/** Tables that are not moved, with the reason. */
export const NOT_MOVED: Readonly<Record<string, string>> = {
  leases: "no process works on the target yet; the first one claims the running turns",
  duties: "periodic work is due at once on a new database",
};

/**
 * Returns the tables to move. Throws a message for the user if the two stores have different tables, because data would
 * be lost.
 */
export function movedTables(source: TableStore, target: TableStore): readonly Table[] {
  const moved = source.tables.filter(({ name }) => !(name in NOT_MOVED));
  const [left, right] = [shapeOf(moved), shapeOf(target.tables)];
  const missing = left.filter((column) => !right.includes(column));
  if (missing.length > 0) {
    throw new Error(
      `${target.place} has no column for ${missing.join(", ")} of ${source.place}. ` +
        "Another version of Colloquy created one of them: move with the newer version, into an empty database.",
    );
  }
  return moved;
}

/** Converts a row for the other database. */
export function convertRow(table: Table, row: TableRow): TableRow {
  if (table.name !== "turns") return row;
  // The lease is not moved, and its owner is stopped.
  return cellOf(table, row, "state") === "running" && cellOf(table, row, "ended_at") === null
    ? row.with(indexOf(table, "runnable"), 1)
    : row;
}

export function tableOf({ tables, place }: TableStore, name: string): Table {
  const table = tables.find((one) => one.name === name);
  if (table === undefined) throw new Error(`${place} has no table ${name}`);
  return table;
}

export function cellOf(table: Table, row: TableRow, column: string): Cell {
  const cell = row[indexOf(table, column)];
  if (cell === undefined) throw new Error(`A row of ${table.name} is too short`);
  return cell;
}

export function keyOf(table: Table, row: TableRow): TableRow {
  return table.key.map((column) => cellOf(table, row, column));
}

/** Iterates over all rows of a table, one page in memory at a time. */
export async function* readRows(
  reader: TableReader,
  table: Table,
  where?: Where,
): AsyncGenerator<TableRow, undefined> {
  let after: TableRow | null = null;
  for (;;) {
    const rows: readonly TableRow[] = await reader.extract(table, {
      ...PAGE,
      after,
      ...(where && { where }),
    });
    const last = rows.at(-1);
    if (last === undefined) return undefined;
    yield* rows;
    after = keyOf(table, last);
  }
}

function indexOf(table: Table, column: string): number {
  const index = table.columns.findIndex(({ name }) => name === column);
  if (index === -1) throw new Error(`The table ${table.name} has no column ${column}`);
  return index;
}

function shapeOf(tables: readonly Table[]): readonly string[] {
  return tables.flatMap(({ name, columns }) =>
    columns.map((column) => `${name}.${column.name} (${column.kind})`),
  );
}

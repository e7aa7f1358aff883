// Compares two databases row by row: reads every table from both at the same time, in key order.

import { createHash } from "node:crypto";
import type { Table, TableReader, TableRow } from "../core/ports/driven/table-store.ts";
import { keyOf, convertRow } from "./moved-tables.ts";

/** Maximum rows, and approximate characters, per read. A move holds a few times this in memory. */
export const PAGE = { rows: 1000, characters: 2_000_000 } as const;

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
export async function compareTable(
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

/** Iterates over all rows of a table, one page in memory at a time. */
export async function* readRows(
  reader: TableReader,
  table: Table,
  where?: { readonly column: string; readonly value: string | number },
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

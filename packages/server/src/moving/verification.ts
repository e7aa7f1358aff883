// Two databases, compared row by row: every table is read from both at the same time, in the order of its key.

import { createHash } from "node:crypto";
import type { Table, TableReader, TableRow } from "../core/ports/table-store.ts";
import { keyOf, onTheWay } from "./moved-tables.ts";

/** Rows that are read at once, at most, and about how many characters: what a move has in memory is a few times this. */
export const PART = { rows: 1000, characters: 2_000_000 } as const;

/** What one side of a table comes to. */
export interface TableSum {
  readonly rows: number;
  /** SHA-256 of all rows in the order of their key, hexadecimal. */
  readonly checksum: string;
}

export interface ComparedTable {
  readonly table: string;
  readonly source: TableSum;
  readonly target: TableSum;
  /** Key of the first row in which the two differ, `null` where they are the same. */
  readonly firstDifference: TableRow | null;
}

/** `source` as it should have arrived, and `target` as it is. `onRows` hears how many rows of the source were compared since the last time. */
export async function compareTable(
  table: Table,
  source: TableReader,
  target: TableReader,
  onRows: (rows: number) => void,
): Promise<ComparedTable> {
  const [sent, arrived] = [rowsOf(source, table), rowsOf(target, table)];
  const [sentSum, arrivedSum] = [createSum(), createSum()];
  let firstDifference: TableRow | null = null;
  for (;;) {
    const [left, right] = [await sent.next(), await arrived.next()];
    if (left.done === true && right.done === true) break;
    const expected = left.done === true ? null : onTheWay(table, left.value);
    const found = right.done === true ? null : right.value;
    const [leftText, rightText] = [sentSum.add(expected), arrivedSum.add(found)];
    if (leftText !== rightText) firstDifference ??= keyOf(table, expected ?? found ?? []);
    if (expected !== null) onRows(1);
  }
  return { table: table.name, source: sentSum.end(), target: arrivedSum.end(), firstDifference };
}

/** All rows of a table, of which only a part is in memory. */
export async function* rowsOf(
  reader: TableReader,
  table: Table,
  where?: { readonly column: string; readonly value: string | number },
): AsyncGenerator<TableRow, undefined> {
  let after: TableRow | null = null;
  for (;;) {
    const rows: readonly TableRow[] = await reader.extract(table, {
      ...PART,
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

// Converts rows of the service's answers into chart series: one value per bucket. Pure.

/** A line of a chart. */
export interface Series {
  readonly label: string;
  /** One per bucket, `null` without data. */
  readonly values: readonly (number | null)[];
}

const DASHES = [[], [7, 3], [2, 3], [8, 3, 2, 3], [4, 4]] as const;

/** Returns the dashes of a line, which distinguish it without colors. */
export function dashOf(at: number): readonly number[] {
  return DASHES[at % DASHES.length] ?? [];
}

/** Number of distinguishable lines; further ones are merged into one. */
export const MAX_SERIES = 5;
export const REST_LABEL = "All others";

/**
 * Sums rows by bucket and name, the largest series first. A bucket without rows is 0. Rows outside all
 * buckets are ignored.
 */
export function sumsBy<Row>(
  rows: readonly Row[],
  starts: readonly number[],
  of: {
    readonly name: (row: Row) => string;
    readonly start: (row: Row) => number;
    readonly value: (row: Row) => number;
  },
): readonly Series[] {
  const at = new Map(starts.map((start, index) => [start, index]));
  const sums = new Map<string, number[]>();
  for (const row of rows) {
    const index = at.get(of.start(row));
    if (index === undefined) continue;
    const name = of.name(row);
    const values = sums.get(name) ?? starts.map(() => 0);
    values[index] = (values[index] ?? 0) + of.value(row);
    sums.set(name, values);
  }
  const sorted = [...sums]
    .map(([label, values]) => ({ label, values, total: total(values) }))
    .toSorted((one, other) => other.total - one.total || (one.label < other.label ? -1 : 1));
  const shown = sorted.length > MAX_SERIES ? MAX_SERIES - 1 : MAX_SERIES;
  const rest = sorted.slice(shown);
  const lines: Series[] = sorted.slice(0, shown).map(({ label, values }) => ({ label, values }));
  if (rest.length > 0)
    lines.push({
      label: REST_LABEL,
      values: starts.map((_, index) => total(rest.map(({ values }) => values[index] ?? 0))),
    });
  return lines;
}

/** Returns the rows' values per bucket, `null` without a row: a line with gaps. */
export function valuesAt<Row>(
  rows: readonly Row[],
  starts: readonly number[],
  of: { readonly start: (row: Row) => number; readonly value: (row: Row) => number | null },
): readonly (number | null)[] {
  const values = new Map(rows.map((row) => [of.start(row), of.value(row)]));
  return starts.map((start) => values.get(start) ?? null);
}

export function total(values: readonly (number | null)[]): number {
  return values.reduce<number>((sum, value) => sum + (value ?? 0), 0);
}

/** Returns the largest value and its position; `null` if nothing is above 0. */
export function peak(
  values: readonly (number | null)[],
): { readonly value: number; readonly index: number } | null {
  let found: { value: number; index: number } | null = null;
  for (const [index, value] of values.entries())
    if (value !== null && value > (found?.value ?? 0)) found = { value, index };
  return found;
}

/** Returns true if a line has at least two points, without which a chart is useless. */
export function isLine(series: readonly Series[]): boolean {
  const [longest = 0] = series
    .map(({ values }) => values.filter((value) => value !== null).length)
    .toSorted((one, other) => other - one);
  return longest > 1;
}

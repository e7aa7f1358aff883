// The statistics of a row.

/**
 * Returns the value below which this share (0 to 1) of the values lies, by nearest rank. Throws without
 * values.
 */
export function percentile(values: readonly number[], share: number): number {
  const sorted = Float64Array.from(values).toSorted();
  const value = sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1))];
  if (value === undefined) throw new Error("No values for a percentile");
  return value;
}

/** Returns the median: for an even number of values, the mean of the two middle ones. */
export function median(values: readonly number[]): number {
  const sorted = Float64Array.from(values).toSorted();
  const half = sorted.length / 2;
  const [low, high] = [sorted[Math.ceil(half) - 1], sorted[Math.floor(half)]];
  if (low === undefined || high === undefined) throw new Error("No values for a median");
  return (low + high) / 2;
}

/** Returns the least and the greatest value. */
export function spread(values: readonly number[]): readonly [least: number, greatest: number] {
  return [percentile(values, 0), percentile(values, 1)];
}

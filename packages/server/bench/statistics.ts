// The few figures that a row is made of.

/** The value below which this share (0 to 1) of the values lies, by the nearest rank. Throws when there are none. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = Float64Array.from(values).toSorted();
  const value = sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1))];
  if (value === undefined) throw new Error("There is nothing to take a percentile of");
  return value;
}

/** The middle value, the mean of the two middle ones when their number is even. */
export function median(values: readonly number[]): number {
  const sorted = Float64Array.from(values).toSorted();
  const half = sorted.length / 2;
  const [low, high] = [sorted[Math.ceil(half) - 1], sorted[Math.floor(half)]];
  if (low === undefined || high === undefined) throw new Error("There is nothing to take a median of");
  return (low + high) / 2;
}

/** The least and the greatest value. */
export function spread(values: readonly number[]): readonly [least: number, greatest: number] {
  return [percentile(values, 0), percentile(values, 1)];
}

/**
 * Counts the values of each step, from the first non-empty step to the last: `7-8 s: 3, 8-9 s: 0, 9-10 s: 1`.
 */
export function formatHistogram(values: readonly number[], step: number, unit: string): string {
  const counts = new Map<number, number>();
  for (const value of values) {
    const place = Math.floor(value / step);
    counts.set(place, (counts.get(place) ?? 0) + 1);
  }
  const first = Math.min(...counts.keys());
  const last = Math.max(...counts.keys());
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => {
    const place = first + index;
    return `${place}-${place + 1} ${unit}: ${counts.get(place) ?? 0}`;
  }).join(", ");
}

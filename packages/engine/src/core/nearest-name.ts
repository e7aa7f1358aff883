/**
 * Returns the known name closest to `name`, or `null` if none is close. Ignores case, `-` and `_`; beyond that, a third
 * of the letters may differ.
 */
export function nearestName(name: string, names: readonly string[]): string | null {
  const wanted = plain(name);
  const allowed = Math.max(1, Math.floor(wanted.length / 3));
  const ranked = names
    .map((candidate) => ({ candidate, distance: editDistance(wanted, plain(candidate)) }))
    .filter(({ candidate, distance }) => distance <= allowed || isPartOf(wanted, plain(candidate)))
    .toSorted((left, right) => left.distance - right.distance);
  return ranked[0]?.candidate ?? null;
}

/** Returns `Did you mean "x"?` with a leading space, or the list of known names if none is close. */
export function suggestion(name: string, names: readonly string[]): string {
  const nearest = nearestName(name, names);
  if (nearest !== null) return ` Did you mean "${nearest}"?`;
  return names.length === 0 ? "" : ` Known here: ${names.join(", ")}.`;
}

function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[-_]/g, "");
}

function isPartOf(short: string, long: string): boolean {
  return short.length >= 4 && long.includes(short);
}

/** Edit distance that counts insertions, deletions, substitutions and transpositions of neighbours. */
function editDistance(left: string, right: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let i = 1; i <= left.length; i++) {
    const row = [i];
    for (let j = 1; j <= right.length; j++) {
      const same = left[i - 1] === right[j - 1];
      let best = Math.min(at(last, j) + 1, at(row, j - 1) + 1, at(last, j - 1) + (same ? 0 : 1));
      const swapped = i > 1 && j > 1 && left[i - 1] === right[j - 2] && left[i - 2] === right[j - 1];
      if (swapped) best = Math.min(best, at(beforeLast, j - 2) + 1);
      row.push(best);
    }
    beforeLast = last;
    last = row;
  }
  return at(last, right.length);
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Number.POSITIVE_INFINITY;
}

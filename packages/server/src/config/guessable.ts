/** Minimum number of distinct characters outside runs. Of 24 random hexadecimal digits, 1 key in 35,000 has fewer. */
const MIN_DISTINCT_CHARACTERS = 8;

/**
 * Returns true for a key that is clearly not random: a repeated part (`change-me-change-me-`), runs such as `aaaa`,
 * `abcd` and `9876`, or few distinct characters. Does not detect dictionary words.
 */
export function isGuessable(key: string): boolean {
  return repeats(key) || charactersOutsideRuns(key).size < MIN_DISTINCT_CHARACTERS;
}

/** Returns true if the key is a repeated part; the last repetition may be cut off. */
function repeats(key: string): boolean {
  for (let period = 1; period <= key.length / 2; period += 1) {
    if (key.startsWith(key.slice(period))) return true;
  }
  return false;
}

/** Returns the characters that do not continue the step between the two characters before them. */
function charactersOutsideRuns(key: string): ReadonlySet<string> {
  const at = (index: number): number => key.charCodeAt(index);
  const continuesRun = (index: number): boolean =>
    index >= 2 && at(index) - at(index - 1) === at(index - 1) - at(index - 2);
  return new Set(key.split("").filter((_, index) => !continuesRun(index)));
}

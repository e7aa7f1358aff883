// Searches for many texts at once, in linear time. Tools are untrusted, and could make `indexOf` compare all
// of a long secret at each index of a long output.

/** Length of the window that selects the patterns to compare at an index. Patterns are at least as long. */
const WINDOW = 4;

/**
 * Length of the prefix that is compared first. Most texts do not contain the prefix and need no more work.
 */
const PREFIX = 16;

/**
 * Bits of the hash over the last `WINDOW` UTF-16 units. Each unit shifts the older ones left until they are
 * masked out.
 */
const HASH_BITS = 16;
const HASH_MASK = 2 ** HASH_BITS - 1;
const UNIT_SHIFT = HASH_BITS / WINDOW;

interface Pattern<T> {
  readonly text: string;
  readonly prefix: string;
  readonly value: T;
  borders: Uint32Array | null;
}

/** Texts to search for, each with a value, prepared for repeated searches. */
export class PatternSet<T> {
  /** Patterns by the hash of their first window. */
  readonly #patterns = new Map<number, Pattern<T>[]>();
  /** Contains 1 for each hash in `#patterns`. */
  readonly #hashes = new Uint8Array(HASH_MASK + 1);
  #shortest = Number.POSITIVE_INFINITY;

  /** Adds a text of at least `WINDOW` UTF-16 units. */
  add(text: string, value: T): void {
    let hash = 0;
    for (let index = 0; index < WINDOW; index += 1) hash = hashWith(hash, text.charCodeAt(index));
    const pattern = { text, prefix: text.slice(0, PREFIX), value, borders: null };
    const others = this.#patterns.get(hash);
    if (others === undefined) this.#patterns.set(hash, [pattern]);
    else others.push(pattern);
    this.#hashes[hash] = 1;
    this.#shortest = Math.min(this.#shortest, text.length);
  }

  /** Calls `onMatch` with the start and end of each occurrence of each text, including overlapping ones. */
  findIn(text: string, onMatch: (value: T, start: number, end: number) => void): void {
    if (text.length < this.#shortest) return;
    let searched: Set<Pattern<T>> | null = null;
    let hash = 0;
    for (let index = 0; index < text.length; index += 1) {
      hash = hashWith(hash, text.charCodeAt(index));
      if (this.#hashes[hash] === 0) continue;
      const start = index + 1 - WINDOW;
      for (const pattern of this.#patterns.get(hash) ?? []) {
        if (searched?.has(pattern) || !text.startsWith(pattern.prefix, start)) continue;
        searched = (searched ?? new Set()).add(pattern);
        findOne(pattern, text, start, onMatch);
      }
    }
  }
}

function hashWith(hash: number, unit: number): number {
  return ((hash << UNIT_SHIFT) ^ unit) & HASH_MASK;
}

/** Finds the occurrences from `first` on (Knuth-Morris-Pratt). */
function findOne<T>(
  pattern: Pattern<T>,
  text: string,
  first: number,
  onMatch: (value: T, start: number, end: number) => void,
): void {
  const wanted = pattern.text;
  pattern.borders ??= bordersOf(wanted);
  const { borders, value } = pattern;
  let matched = 0;
  for (let index = first; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    while (matched > 0 && wanted.charCodeAt(matched) !== unit) matched = borders[matched - 1] ?? 0;
    if (wanted.charCodeAt(matched) === unit) matched += 1;
    if (matched < wanted.length) continue;
    onMatch(value, index + 1 - wanted.length, index + 1);
    matched = borders[matched - 1] ?? 0;
  }
}

/**
 * Returns the failure function: for each prefix, the length of its longest proper suffix that is also a
 * prefix.
 */
function bordersOf(pattern: string): Uint32Array {
  const borders = new Uint32Array(pattern.length);
  let matched = 0;
  for (let index = 1; index < pattern.length; index += 1) {
    const unit = pattern.charCodeAt(index);
    while (matched > 0 && pattern.charCodeAt(matched) !== unit) matched = borders[matched - 1] ?? 0;
    if (pattern.charCodeAt(matched) === unit) matched += 1;
    borders[index] = matched;
  }
  return borders;
}

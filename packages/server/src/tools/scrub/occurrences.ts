// Linear-time substring search. Tools are untrusted, and `indexOf` can be made to compare all of a long
// secret at each index of a long output.

/**
 * Length of the prefix that is searched first: nearly every text does not contain it, and needs no more work.
 */
const PREFIX = 16;

/** A search text, prepared for repeated searches. */
export class Pattern {
  readonly text: string;
  readonly #prefix: string;
  #borders: Uint32Array | null = null;

  /** `text` must not be empty. */
  constructor(text: string) {
    this.text = text;
    this.#prefix = text.slice(0, PREFIX);
  }

  /** Calls `found` with the index of each occurrence, including overlapping ones (Knuth-Morris-Pratt). */
  findIn(text: string, found: (index: number) => void): void {
    const pattern = this.text;
    if (text.length < pattern.length) return;
    const first = text.indexOf(this.#prefix);
    if (first === -1) return;
    this.#borders ??= bordersOf(pattern);
    let matched = 0;
    for (let index = first; index < text.length; index += 1) {
      const unit = text.charCodeAt(index);
      while (matched > 0 && pattern.charCodeAt(matched) !== unit) matched = this.#borders[matched - 1] ?? 0;
      if (pattern.charCodeAt(matched) === unit) matched += 1;
      if (matched < pattern.length) continue;
      found(index + 1 - pattern.length);
      matched = this.#borders[matched - 1] ?? 0;
    }
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

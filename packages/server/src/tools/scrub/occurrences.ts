// Where a text stands within another, in time that grows with the longer one alone, whatever the two are: tools are not trusted, and
// `indexOf` can be made to compare all of a long secret at each place of a long output.

/** This much of a pattern is looked for first: where it is not, which is nearly everywhere, nothing else needs to be done. */
const PREFIX = 16;

/** A text that is looked for many times. */
export class Pattern {
  readonly text: string;
  readonly #prefix: string;
  #borders: Uint32Array | null = null;

  /** `text` is not empty. */
  constructor(text: string) {
    this.text = text;
    this.#prefix = text.slice(0, PREFIX);
  }

  /** Calls `found` with the beginning of each occurrence in `text`, those that overlap too (Knuth, Morris and Pratt). */
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

/** For each length of a beginning of the pattern, how long its longest end is that is a beginning too. */
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

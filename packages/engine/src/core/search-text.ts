// Tokenizes texts and queries, and builds snippets. Both databases index the words that `wordsIn` returns,
// instead of using their own tokenizers.

/** Maximum length of a query in UTF-16 code units. */
export const SEARCH_MAX = 400;
/**
 * Maximum length of a part of a message in UTF-16 code units. Limits the text that a search reads per
 * candidate.
 */
export const PART_CHARACTERS = 32_768;
/** Overlap of adjacent parts, so that a phrase at their boundary is whole in one of them. */
const PART_OVERLAP = 512;
/** Maximum words of a query to look up in the index. The text is then compared with all of them. */
const INDEXED_WORDS = 32;
/** Longer words are truncated, in texts and queries: PostgreSQL rejects lexemes of more than 2,046 bytes. */
const WORD_CHARACTERS = 64;
/** Minimum length of a last word that matches as a prefix: shorter ones match too many words. */
const PREFIX_MIN = 2;
/** Ranges of a term that a snippet is chosen from. */
const RANGES_PER_TERM = 100;
/** Maximum characters of a snippet before its first match, and in total. */
const [SNIPPET_BEFORE, SNIPPET_CHARACTERS] = [40, 200];

/** Apostrophes that Unicode classes as letters. They separate words, as the other apostrophes do. */
const APOSTROPHE = "[\\u02b9-\\u02bf]";
/**
 * Characters of scripts without spaces between words. Each is a unit, and the index contains bigrams. Korean
 * has spaces, but not before particles.
 */
const UNSPACED = `(?:(?!${APOSTROPHE})(?=[\\p{L}\\p{N}])[\\p{scx=Han}\\p{scx=Hira}\\p{scx=Kana}\\p{scx=Bopo}\\p{scx=Hang}\\p{scx=Yiii}\\p{scx=Thai}\\p{scx=Laoo}\\p{scx=Khmr}\\p{scx=Mymr}\\p{scx=Tibt}])`;
/**
 * Includes marks, medial and final letters of decomposed Korean syllables, and voicing marks of half-width
 * kana.
 */
const CLUSTER = `${UNSPACED}[\\p{M}\\u1160-\\u11ff\\uff9e\\uff9f]*`;
const EMOJI = "\\p{RI}{2}|\\p{Extended_Pictographic}";
// A sign at the end belongs to the word (C++, C#). Between two words, it separates them.
const WORD = `(?:(?!${UNSPACED}|${APOSTROPHE})[\\p{L}\\p{N}\\p{M}\\p{Cf}])+(?:[+#]+(?![\\p{L}\\p{N}]))?`;
const UNITS = new RegExp(`(?<character>${CLUSTER})|(?<emoji>${EMOJI})|${WORD}`, "gu");
const CLUSTERS = new RegExp(CLUSTER, "gu");
const SEPARATORS = new RegExp(`(?:[^\\p{L}\\p{N}\\p{M}+#]|${APOSTROPHE})+`, "u");

/**
 * Diacritics of Latin, Greek, Cyrillic, Hebrew and Arabic, which people often omit, and invisible
 * characters. Marks of other scripts are vowels. The circle of Thai and Lao is ignored because it begins a
 * decomposed vowel, and would belong to the character before it.
 */
const IGNORED =
  /[\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670]|[\u06d6-\u06ed]|[\u20d0-\u20ff]|[\ufe00-\ufe0f\u{e0100}-\u{e01ef}]|[\u0e4d\u0ecd]|\u0640|\p{Cf}/gu;
const LETTERS: Readonly<Record<string, string>> = {
  æ: "ae",
  œ: "oe",
  ø: "o",
  ð: "d",
  đ: "d",
  þ: "th",
  ł: "l",
  ħ: "h",
  ŧ: "t",
  ς: "σ",
  ß: "ss",
  // Arabic, Persian and Urdu keyboards write the same letters differently.
  ک: "ك",
  ی: "ي",
  ى: "ي",
  ہ: "ه",
  ە: "ه",
  ة: "ه",
  ۃ: "ه",
};
const ARABIC_DIGITS = /[\u0660-\u0669\u06f0-\u06f9]/g;
const OTHER_LETTERS = new RegExp(`[${Object.keys(LETTERS).join("")}]`, "g");

/** Folds case, compatibility forms, accents and vowel points. */
function fold(text: string): string {
  if (/^[a-z0-9]*$/.test(text)) return text;
  if (/^[\x20-\x7e]*$/.test(text)) return text.toLowerCase();
  return (
    text
      .normalize("NFKD")
      .replaceAll(IGNORED, "")
      // Upper case first, which is the only way to fold the dotless ı.
      .toUpperCase()
      .toLowerCase()
      .replaceAll(OTHER_LETTERS, (letter) => LETTERS[letter] ?? letter)
      .replaceAll(ARABIC_DIGITS, (digit) => String(digit.charCodeAt(0) & 15))
      .normalize("NFC")
  );
}

/** A word, or a character of a script without spaces. `start` and `end` are UTF-16 offsets in the text. */
interface Unit {
  readonly word: string;
  readonly isCharacter: boolean;
  readonly start: number;
  readonly end: number;
}

function unitsOf(text: string): Unit[] {
  const units: Unit[] = [];
  for (const match of text.matchAll(UNITS)) {
    const [found] = match;
    const [start, end] = [match.index, match.index + found.length];
    const isCharacter = match.groups?.["character"] !== undefined;
    const folded = fold(found.slice(0, 4 * WORD_CHARACTERS));
    const words = isCharacter
      ? (folded.match(CLUSTERS) ?? [])
      : match.groups?.["emoji"] === undefined
        ? folded.split(SEPARATORS)
        : [folded];
    for (const word of words) if (word !== "") units.push({ word: cut(word), isCharacter, start, end });
  }
  return units;
}

function cut(word: string): string {
  return word.length <= WORD_CHARACTERS
    ? word
    : word.slice(0, WORD_CHARACTERS).replace(/[\uD800-\uDBFF]$/, "");
}

/** Returns the index words of units: bigrams of characters, and the last character of a run alone. */
function indexed(units: readonly Unit[]): string[] {
  return units.map(({ word, isCharacter, end }, index) => {
    const next = units[index + 1];
    return isCharacter && next?.isCharacter === true && next.start === end ? word + next.word : word;
  });
}

/**
 * Returns the distinct index words of a text. They never contain spaces, quotes, underscores or backslashes.
 */
export function wordsIn(text: string): readonly string[] {
  return [...new Set(indexed(unitsOf(text)))];
}

/** A part of a message. `start` and `length` count Unicode characters, as the databases do. */
export interface TextPart {
  readonly start: number;
  readonly length: number;
  readonly words: readonly string[];
}

/** Splits a text into parts. Omits those without words. */
export function* partsOf(text: string): Generator<TextPart> {
  let start = 0;
  for (let from = 0; from < text.length; ) {
    const to = boundary(text, from + PART_CHARACTERS);
    const part = text.slice(from, to);
    const words = wordsIn(part);
    if (words.length > 0) yield { start, length: charactersIn(part), words };
    if (to >= text.length) return;
    const next = boundary(text, to - PART_OVERLAP);
    start += charactersIn(text.slice(from, next));
    from = next;
  }
}

/** Returns the offset, or the previous one if it splits a surrogate pair. */
function boundary(text: string, place: number): number {
  return /[\uDC00-\uDFFF]/.test(text.charAt(place)) ? place - 1 : Math.min(place, text.length);
}

function charactersIn(text: string): number {
  return text.length - (text.match(/[\uD800-\uDBFF][\uDC00-\uDFFF]/g)?.length ?? 0);
}

/** Consecutive units of a text. The last unit of a prefix also matches longer words. */
interface Term {
  readonly units: readonly Unit[];
  readonly isPrefix: boolean;
}

/** A word or prefix to look up in the index. */
export interface IndexedWord {
  readonly word: string;
  readonly isPrefix: boolean;
}

export interface ParsedSearch {
  readonly terms: readonly Term[];
  readonly words: readonly IndexedWord[];
}

/**
 * Parses a query: words that must all occur, quoted phrases, and a last word that also matches as a prefix.
 * Returns `null` if it has no letters, digits or emoji.
 */
export function parseSearch(query: string): ParsedSearch | null {
  const terms: Term[] = [];
  for (const [found, quoted] of query.matchAll(/["“”„]([^"“”„]*)["“”„]?|[^\s"“”„]+/gu)) {
    const units = unitsOf(quoted ?? found);
    if (units.length > 0) terms.push({ units, isPrefix: false });
  }
  const last = terms.at(-1);
  if (last === undefined) return null;
  const { word = "", isCharacter = true } = last.units.at(-1) ?? {};
  const isOpen = !/["“”„]\s*$/u.test(query);
  if (isOpen && !isCharacter && word.length >= PREFIX_MIN)
    terms[terms.length - 1] = { ...last, isPrefix: true };
  const words = new Map(terms.flatMap(indexedWords).map((word) => [`${word.isPrefix}${word.word}`, word]));
  return { terms: distinct(terms), words: [...words.values()].slice(0, INDEXED_WORDS) };
}

function distinct(terms: readonly Term[]): readonly Term[] {
  const keyOf = ({ units, isPrefix }: Term): string => [isPrefix, ...units.map(({ word }) => word)].join(" ");
  return [...new Map(terms.map((term) => [keyOf(term), term])).values()];
}

function indexedWords({ units, isPrefix }: Term): readonly IndexedWord[] {
  return indexed(units).flatMap((word, index): IndexedWord[] => {
    const unit = units[index];
    const isLast = index === units.length - 1;
    if (unit?.isCharacter !== true) return [{ word, isPrefix: isPrefix && isLast }];
    if (word !== unit.word) return [{ word, isPrefix: false }];
    // In a longer text, the index contains the last character as part of a bigram only.
    const before = units[index - 1];
    return before?.isCharacter === true && before.end === unit.start ? [] : [{ word, isPrefix: true }];
  });
}

/** A piece of a snippet. */
export interface Segment {
  readonly text: string;
  /** True for a match. */
  readonly match?: true;
}

interface Range {
  readonly start: number;
  readonly end: number;
  readonly term: number;
}

/** Returns the snippet around the matches in a text; `null` if the text lacks a term. */
export function snippetOf(text: string, { terms }: ParsedSearch): readonly Segment[] | null {
  const ranges = rangesIn(text, terms);
  if (ranges === null) return null;
  const first = bestOf(ranges, terms.length);
  const from = wordStart(text, Math.max(0, first.start - SNIPPET_BEFORE), first.start);
  const to = wordEnd(text, Math.min(text.length, from + SNIPPET_CHARACTERS));
  const segments: Segment[] = [];
  let place = from;
  const add = (end: number, isMatch: boolean): void => {
    const piece = text.slice(place, end);
    if (piece !== "")
      segments.push({ text: piece.replaceAll(/\s+/gu, " "), ...(isMatch && { match: true }) });
    place = Math.max(place, end);
  };
  for (const { start, end } of ranges) {
    if (start >= to) break;
    if (end <= place) continue;
    add(Math.max(place, start), false);
    add(Math.min(end, to), true);
  }
  add(to, false);
  return withEllipses(segments, from > 0, to < text.length);
}

/** Returns the first ranges of each term in the text, in order; `null` if a term is missing. */
function rangesIn(text: string, terms: readonly Term[]): readonly Range[] | null {
  const units = unitsOf(text);
  const placesOf = Map.groupBy(units.keys(), (place) => units[place]?.word);
  const ranges: Range[] = [];
  for (const [index, term] of terms.entries()) {
    const { units: wanted, isPrefix } = term;
    const isOnlyPrefix = isPrefix && wanted.length === 1;
    const places = isOnlyPrefix ? units.keys() : (placesOf.get(wanted[0]?.word) ?? []);
    let left = RANGES_PER_TERM;
    for (const place of places) {
      if (left === 0) break;
      const [first, last] = [units[place], units[place + wanted.length - 1]];
      if (first === undefined || last === undefined || !isAt(units, place, term)) continue;
      ranges.push({ start: first.start, end: last.end, term: index });
      left -= 1;
    }
    if (left === RANGES_PER_TERM) return null;
  }
  return ranges.toSorted((left, right) => left.start - right.start || right.end - left.end);
}

function isAt(units: readonly Unit[], place: number, { units: wanted, isPrefix }: Term): boolean {
  return wanted.every(({ word }, index) => {
    const found = units[place + index]?.word ?? "";
    return found === word || (isPrefix && index === wanted.length - 1 && found.startsWith(word));
  });
}

/** Returns the first range of the window with the most terms. */
function bestOf(ranges: readonly Range[], count: number): Range {
  let [best, most] = [ranges[0], 0];
  for (const [index, range] of ranges.entries()) {
    const terms = new Set<number>();
    for (let next = index; next < ranges.length; next += 1) {
      const { end, term } = ranges[next] ?? range;
      if (end - range.start > SNIPPET_CHARACTERS - SNIPPET_BEFORE) break;
      terms.add(term);
    }
    if (terms.size > most) [best, most] = [range, terms.size];
    if (most === count) break;
  }
  if (best === undefined) throw new Error("A match has no range");
  return best;
}

/** Returns the start of a word near `from`, before `latest`; otherwise the start of a character. */
function wordStart(text: string, from: number, latest: number): number {
  if (from === 0) return 0;
  const space = /\s\S/u.exec(text.slice(from, latest + 1));
  return space === null ? boundary(text, from) : from + space.index + 1;
}

/** Returns the end of a word near `to`; otherwise the end of a character. */
function wordEnd(text: string, to: number): number {
  if (to >= text.length) return text.length;
  const space = /\s\S{0,20}$/u.exec(text.slice(to - 21, to));
  return space === null || space.index === 0 ? boundary(text, to) : to - 21 + space.index;
}

function withEllipses(segments: readonly Segment[], isBegun: boolean, isCut: boolean): readonly Segment[] {
  const all = [...segments];
  const [first, last] = [all[0], all.at(-1)];
  if (isBegun && first !== undefined)
    all.splice(0, 1, ...(first.match ? [{ text: "…" }, first] : [{ text: `…${first.text}` }]));
  if (isCut && last !== undefined) {
    const end = all.at(-1) ?? last;
    all.splice(-1, 1, ...(end.match ? [end, { text: "…" }] : [{ text: `${end.text}…` }]));
  }
  return all;
}

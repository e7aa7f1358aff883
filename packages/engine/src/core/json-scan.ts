// One pass over JSON text that finds what `JSON.parse` does not report: deep nesting, changed numbers, and
// repeated names in an object.

/** A repeated name in an object. Lines and columns start at 1. */
export interface RepeatedName {
  /** Path from the outermost object to the name. */
  readonly path: readonly PropertyKey[];
  readonly first: string;
  readonly again: string;
}

/** A number that a double cannot hold. */
export interface ChangedNumber {
  readonly digits: string;
  readonly change: "infinite" | "rounded";
}

export interface JsonScan {
  /** The limit at which the scan stopped; `null` if it reached the end. */
  readonly exceeded: "depth" | "values" | null;
  /** The first changed number in the text. */
  readonly changedNumber: ChangedNumber | null;
  readonly repeatedNames: readonly RepeatedName[];
}

export interface ScanLimits {
  /** Depth of arrays and objects at which the scan stops. */
  readonly depth: number;
  /** Number of commas, arrays and objects after which the scan stops: about the number of values. */
  readonly values: number;
  /** Number of repeated names to report. */
  readonly repeatedNames: number;
}

/** Objects with more names than this use a map. With fewer names, a linear search is faster. */
const FEW_NAMES = 16;
/** Characters of a string that are read one by one before a native search for its end. */
const SHORT_STRING = 32;
const ZEROS = "000000";
const [SPACE, QUOTE, COMMA, COLON, BACKSLASH, MINUS, PLUS, POINT] = [
  0x20, 0x22, 0x2c, 0x3a, 0x5c, 0x2d, 0x2b, 0x2e,
];
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * An array or an object that is being read. Reused for the next value at its depth, so that empty ones cost
 * nothing.
 */
interface Level {
  isObject: boolean;
  /** Index in an array. */
  index: number;
  /** Number of names read in this object. */
  count: number;
  /** Number of names read before the first repeated one. */
  distinct: number;
  /** Number of leading names that equal those of the previous object at this depth, and need no comparison. */
  likeBefore: number;
  /** Names as written, without quotes. */
  readonly raw: string[];
  readonly names: string[];
  readonly positions: number[];
  /** Positions by name, if there are more than a few. */
  byName: Map<string, number> | null;
}

/**
 * Scans valid JSON. Takes linear time, apart from the positions of repeated names. The result for invalid
 * JSON is meaningless.
 */
export function scanJson(text: string, limits: ScanLimits): JsonScan {
  const repeatedNames: RepeatedName[] = [];
  const levels: Level[] = [];
  let changedNumber: ChangedNumber | null = null;
  let depth = 0;
  let values = 0;
  let level: Level | undefined;
  for (let index = 0; index < text.length; index += 1) {
    const character = text.charCodeAt(index);
    if (character <= SPACE) {
      while (text.charCodeAt(index + 1) <= SPACE) index += 1;
      continue;
    }
    if (character === QUOTE) {
      const end = endOfString(text, index);
      if (level?.isObject === true && isName(text, end)) {
        const first = note(level, text, index, end);
        if (first !== null && repeatedNames.length < limits.repeatedNames) {
          const path = levels.slice(0, depth).map(keyOf);
          repeatedNames.push({ path, first: positionOf(text, first), again: positionOf(text, index) });
        }
      }
      index = end;
    } else if (character === COMMA) {
      values += 1;
      if (values > limits.values) return { exceeded: "values", changedNumber, repeatedNames };
      if (level !== undefined) level.index += 1;
    } else if (isDigit(character) || character === MINUS) {
      const end = endOfNumber(text, index);
      if (end < 0) changedNumber ??= changeOf(text.slice(index, -end));
      index = Math.abs(end) - 1;
    } else if (character === OPEN_OBJECT || character === OPEN_ARRAY) {
      if (depth === limits.depth) return { exceeded: "depth", changedNumber, repeatedNames };
      values += 1;
      level = openLevel(levels, depth, character === OPEN_OBJECT);
      depth += 1;
    } else if ((character === CLOSE_OBJECT || character === CLOSE_ARRAY) && depth > 0) {
      depth -= 1;
      level = levels[depth - 1];
    }
  }
  return { exceeded: null, changedNumber, repeatedNames };
}

/** Returns the index of the quote that ends the string, or the end of the text if there is none. */
function endOfString(text: string, start: number): number {
  for (let index = start + 1; ; ) {
    for (const near = index + SHORT_STRING; index < near; index += 1) {
      const character = text.charCodeAt(index);
      if (character === QUOTE) return index;
      if (character === BACKSLASH) index += 1;
    }
    const quote = text.indexOf('"', index);
    if (quote < 0) return text.length;
    let escapes = quote;
    while (escapes > index && text.charCodeAt(escapes - 1) === BACKSLASH) escapes -= 1;
    if ((quote - escapes) % 2 === 0) return quote;
    index = quote + 1;
  }
}

/** Returns the index after the number; negative if the number may not fit a double. */
function endOfNumber(text: string, start: number): number {
  const first = text.charCodeAt(start) === MINUS ? start + 1 : start;
  let end = first;
  while (isDigit(text.charCodeAt(end))) end += 1;
  const whole = end - first;
  const next = text.charCodeAt(end);
  if (next !== POINT && (next | 0x20) !== 0x65) return whole < 16 || isKept(text, first, end) ? end : -end;
  if (next === POINT) {
    end += 1;
    while (isDigit(text.charCodeAt(end))) end += 1;
  }
  if ((text.charCodeAt(end) | 0x20) !== 0x65) return whole > 308 ? -end : end;
  end += 1;
  const sign = text.charCodeAt(end);
  if (sign === PLUS || sign === MINUS) end += 1;
  let exponent = 0;
  for (; isDigit(text.charCodeAt(end)); end += 1) exponent = exponent * 10 + text.charCodeAt(end) - 0x30;
  return whole + (sign === MINUS ? 0 : exponent) > 308 ? -end : end;
}

/** Returns true if doubles hold the integer of at least 16 digits and print it in full; false if that is uncertain. */
function isKept(text: string, start: number, end: number): boolean {
  const digits = end - start;
  if (digits > 17) return false;
  // The largest safe integer starts with a 9. Nearly all long numbers that clients send end here.
  if (digits === 16 && text.charCodeAt(start) < 0x39) return true;
  let value = 0;
  for (let index = start; index < end; index += 1) value = value * 10 + text.charCodeAt(index) - 0x30;
  // Up to 2^54, doubles hold the even integers.
  return value <= Number.MAX_SAFE_INTEGER || (value < 2 ** 54 && text.charCodeAt(end - 1) % 2 === 0);
}

/** Returns how a number changes when it is parsed and serialized, or `null` if it does not. */
function changeOf(digits: string): ChangedNumber | null {
  const isWhole = !/[.e]/i.test(digits);
  // Doubles hold 15 significant digits, and are written in full up to 21.
  if (isWhole && digits.length <= 21 && digits.endsWith(ZEROS.slice(0, digits.length - 15))) return null;
  const value = Number(digits);
  if (!Number.isFinite(value)) return { digits, change: "infinite" };
  if (!isWhole) return null;
  // From 1e21 on, numbers are written with an exponent, which is exact only if the double is.
  const stays = Math.abs(value) < 1e21 ? String(value) === digits : BigInt(value) === BigInt(digits);
  return stays ? null : { digits, change: "rounded" };
}

/** Returns true if a colon follows the string that ends at `end`. */
function isName(text: string, end: number): boolean {
  let index = end + 1;
  while (isSpace(text.charCodeAt(index))) index += 1;
  return text.charCodeAt(index) === COLON;
}

function isDigit(character: number): boolean {
  return character >= 0x30 && character <= 0x39;
}

function isSpace(character: number): boolean {
  return character === 0x20 || character === 0x0a || character === 0x0d || character === 0x09;
}

function nameOf(raw: string): string {
  if (!raw.includes("\\")) return raw;
  try {
    return String(JSON.parse(`"${raw}"`));
  } catch {
    return raw;
  }
}

function openLevel(levels: Level[], depth: number, isObject: boolean): Level {
  const level = levels[depth];
  if (level === undefined) {
    const lists = { raw: [], names: [], positions: [] };
    const opened = { isObject, index: 0, count: 0, distinct: 0, likeBefore: 0, ...lists, byName: null };
    levels.push(opened);
    return opened;
  }
  level.likeBefore = level.isObject && isObject ? level.distinct : 0;
  level.isObject = isObject;
  level.index = 0;
  level.count = 0;
  level.distinct = 0;
  level.byName = null;
  return level;
}

/**
 * Records the name between the quotes at `start` and `end`. Returns its earlier position in the object, or
 * `null`.
 */
function note(level: Level, text: string, start: number, end: number): number | null {
  const { count } = level;
  const expected = count < level.likeBefore ? level.raw[count] : undefined;
  if (expected?.length === end - start - 1 && text.startsWith(expected, start + 1)) {
    level.positions[count] = start;
    level.count += 1;
    level.distinct += 1;
    return null;
  }
  level.likeBefore = 0;
  const raw = text.slice(start + 1, end);
  const name = nameOf(raw);
  if (level.byName === null && count >= FEW_NAMES) level.byName = positionsByName(level);
  const before = level.byName === null ? positionAmong(level, name) : (level.byName.get(name) ?? null);
  level.raw[count] = raw;
  level.names[count] = name;
  level.positions[count] = before ?? start;
  level.byName?.set(name, before ?? start);
  level.count += 1;
  if (before === null && level.distinct === count) level.distinct += 1;
  return before;
}

function positionsByName({ names, positions, count }: Level): Map<string, number> {
  return new Map(names.slice(0, count).map((name, index) => [name, positions[index] ?? 0]));
}

function positionAmong({ names, positions, count }: Level, name: string): number | null {
  for (let index = 0; index < count; index += 1) if (names[index] === name) return positions[index] ?? null;
  return null;
}

function keyOf({ isObject, index, names, count }: Level): string | number {
  return isObject ? (names[count - 1] ?? "") : index;
}

function positionOf(text: string, index: number): string {
  const lines = text.slice(0, index).split("\n");
  return `line ${lines.length}, column ${(lines.at(-1) ?? "").length + 1}`;
}

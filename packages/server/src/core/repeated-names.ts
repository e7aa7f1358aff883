// JSON.parse keeps the last of several values with the same name, without a word. Whoever wrote them meant all of them.

/** A name that stands in an object once more. Lines and columns begin with 1. */
export interface RepeatedName {
  /** From the outermost object to the name. */
  readonly path: readonly PropertyKey[];
  readonly first: string;
  readonly again: string;
}

/** Objects with more names than this look them up in a map; it costs more than it saves for fewer. */
const FEW_NAMES = 16;
const [QUOTE, COMMA, COLON, BACKSLASH] = [0x22, 0x2c, 0x3a, 0x5c];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/** A list or an object that is being read. Kept for the next one of its depth, so that an empty object costs nothing. */
interface Level {
  isObject: boolean;
  /** Index in a list. */
  index: number;
  /** Names that were read of this object. */
  count: number;
  /** Names that were read before the first that stands again. */
  distinct: number;
  /** The `distinct` names of the object before at this depth: as long as this one has the same, they need not be compared. */
  likeBefore: number;
  /** As they are written, without quotes. */
  readonly raw: string[];
  readonly names: string[];
  readonly places: number[];
  /** Places by name, when there are more than a few. */
  byName: Map<string, number> | null;
}

/**
 * The first `limit` names that stand again in an object of `text`, in their order; of text that is not sound JSON whatever it comes to.
 * One pass: every character is looked at a bounded number of times.
 */
export function findRepeatedNames(text: string, limit = Number.POSITIVE_INFINITY): readonly RepeatedName[] {
  const found: RepeatedName[] = [];
  const levels: Level[] = [];
  const lines = new Lines(text);
  let depth = 0;
  for (let index = 0; index < text.length; index += 1) {
    const character = text.charCodeAt(index);
    if (character === QUOTE) {
      const end = endOfText(text, index);
      const level = depth > 0 ? levels[depth - 1] : undefined;
      if (level?.isObject === true && isName(text, end)) {
        const first = note(level, text, index, end);
        if (first !== null) {
          const path = levels.slice(0, depth).map(keyOf);
          found.push({ path, first: lines.placeOf(first), again: lines.placeOf(index) });
          if (found.length >= limit) return found;
        }
      }
      index = end;
    } else if (character === OPEN_OBJECT || character === OPEN_LIST) {
      openLevel(levels, depth, character === OPEN_OBJECT);
      depth += 1;
    } else if (character === CLOSE_OBJECT || character === CLOSE_LIST) {
      if (depth > 0) depth -= 1;
    } else if (character === COMMA && depth > 0) {
      const level = levels[depth - 1];
      if (level !== undefined) level.index += 1;
    }
  }
  return found;
}

/** Index of the quote that ends the text whose first one is at `start`; the end of `text` where there is none. */
export function endOfText(text: string, start: number): number {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let escapes = end;
    while (text.charCodeAt(escapes - 1) === BACKSLASH) escapes -= 1;
    if ((end - escapes) % 2 === 0) return end;
  }
  return text.length;
}

/** Whether a colon follows the text that ends at `end`. */
function isName(text: string, end: number): boolean {
  let index = end + 1;
  while (isSpace(text.charCodeAt(index))) index += 1;
  return text.charCodeAt(index) === COLON;
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

function openLevel(levels: Level[], depth: number, isObject: boolean): void {
  const level = levels[depth];
  if (level === undefined) {
    const lists = { raw: [], names: [], places: [] };
    levels.push({ isObject, index: 0, count: 0, distinct: 0, likeBefore: 0, ...lists, byName: null });
    return;
  }
  level.likeBefore = level.isObject && isObject ? level.distinct : 0;
  level.isObject = isObject;
  level.index = 0;
  level.count = 0;
  level.distinct = 0;
  level.byName = null;
}

/** Notes the name between the quotes at `start` and `end`; answers where it stood before in the same object, `null` for the first time. */
function note(level: Level, text: string, start: number, end: number): number | null {
  const { count } = level;
  const expected = count < level.likeBefore ? level.raw[count] : undefined;
  if (expected?.length === end - start - 1 && text.startsWith(expected, start + 1)) {
    level.places[count] = start;
    level.count += 1;
    level.distinct += 1;
    return null;
  }
  level.likeBefore = 0;
  const raw = text.slice(start + 1, end);
  const name = nameOf(raw);
  if (level.byName === null && count >= FEW_NAMES) level.byName = placesByName(level);
  const before = level.byName === null ? placeAmong(level, name) : (level.byName.get(name) ?? null);
  level.raw[count] = raw;
  level.names[count] = name;
  level.places[count] = before ?? start;
  level.byName?.set(name, before ?? start);
  level.count += 1;
  if (before === null && level.distinct === count) level.distinct += 1;
  return before;
}

function placesByName({ names, places, count }: Level): Map<string, number> {
  return new Map(names.slice(0, count).map((name, index) => [name, places[index] ?? 0]));
}

function placeAmong({ names, places, count }: Level, name: string): number | null {
  for (let index = 0; index < count; index += 1) if (names[index] === name) return places[index] ?? null;
  return null;
}

function keyOf({ isObject, index, names, count }: Level): string | number {
  return isObject ? (names[count - 1] ?? "") : index;
}

/** Lines and columns, worked out when they are asked for. */
class Lines {
  readonly #text: string;
  #starts: readonly number[] | null = null;

  constructor(text: string) {
    this.#text = text;
  }

  placeOf(index: number): string {
    this.#starts ??= [0, ...Array.from(this.#text.matchAll(/\n/g), (match) => match.index + 1)];
    let [low, high] = [0, this.#starts.length];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if ((this.#starts[middle] ?? 0) <= index) low = middle;
      else high = middle;
    }
    return `line ${low + 1}, column ${index - (this.#starts[low] ?? 0) + 1}`;
  }
}

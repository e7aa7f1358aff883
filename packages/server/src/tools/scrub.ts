// Keeps the values of secrets out of what tools say: results, progress, errors, questions to a person. It is the last net, not the wall: a
// tool that means to leak can always write a value in a way that nobody thought of.
//
// To be used on text that is clean (`cleanText`, which may join what a NUL had parted) and before anything is cut, so that no half of a
// value stays at an end.

import type { JsonValue } from "../core/json.ts";
import { asBase64, readings, type DecodedText } from "./scrub/decoded-text.ts";
import { formsOf, MINIMUM_LENGTH, plusAsSpace, type SecretForms } from "./scrub/secret-forms.ts";

/** What stands in the place of a value. The first that no value can be part of, or lie across. */
const MARKS = ["[secret]", "<hidden>", "***", "###", "\u2588\u2588\u2588"];

/** Answers a copy of a value, without the secrets. */
export type Scrubber = (value: JsonValue) => JsonValue;

/**
 * Makes a scrubber for these values. In every string, key and number it replaces each occurrence of each value, however they overlap:
 * as it is, in base64 (both alphabets, padded or not, at any offset, broken into lines), in hexadecimal, and with any of its characters
 * written as escapes of URLs and forms, of JSON (`\uXXXX` too) and of HTML, also when one of these stands within another. White space
 * around a value does not count. A value of less than four characters is replaced only where a string is nothing else.
 *
 * Takes time in proportion to the size of what is scrubbed, times the number of values.
 */
export function createScrubber(values: Iterable<string>): Scrubber {
  const trimmed = [...new Set(values)].map((value) => value.trim()).filter((value) => value !== "");
  if (trimmed.length === 0) return (value) => value;
  const isLong = (value: string): boolean => value.length >= MINIMUM_LENGTH;
  const short = trimmed.filter((value) => !isLong(value));
  const text = new TextScrubber({
    forms: trimmed.filter(isLong).map(formsOf),
    short: new Set(short.map(plusAsSpace)),
    shortInBase64: new Set(short.map(base64Of)),
    mark: markFor(trimmed),
  });
  return (value) => scrub(value, text);
}

function scrub(value: JsonValue, text: TextScrubber): JsonValue {
  switch (typeof value) {
    case "string":
      return text.scrub(value);
    case "number": {
      const digits = String(value);
      const scrubbed = text.scrub(digits);
      return scrubbed === digits ? value : scrubbed;
    }
    case "object":
      if (value === null) return null;
      if (Array.isArray(value)) return value.map((item) => scrub(item, text));
      return scrubObject(value, text);
    default:
      return value;
  }
}

function scrubObject(object: Readonly<Record<string, JsonValue>>, text: TextScrubber): JsonValue {
  const entries = new Map<string, JsonValue>();
  for (const [key, item] of Object.entries(object)) {
    const scrubbed = text.scrub(key);
    // Two keys may have become the same; neither of their values is to be lost.
    let name = scrubbed;
    for (let count = 2; entries.has(name); count += 1) name = `${scrubbed} ${count}`;
    entries.set(name, scrub(item, text));
  }
  // Not by assignment: a key `__proto__` is a key like any other.
  return Object.fromEntries(entries);
}

interface TextScrubberOptions {
  readonly forms: readonly SecretForms[];
  /** What a whole string must not be, with each `+` read as a space; the same in base64. */
  readonly short: ReadonlySet<string>;
  readonly shortInBase64: ReadonlySet<string>;
  readonly mark: string;
}

class TextScrubber {
  readonly #options: TextScrubberOptions;

  constructor(options: TextScrubberOptions) {
    this.#options = options;
  }

  scrub(original: string): string {
    const { forms, short, shortInBase64, mark } = this.#options;
    const covered = new Cover(original.length);
    for (const reading of readings(original)) {
      const plain = plusAsSpace(reading.text);
      const base64 = asBase64(reading);
      if (short.has(plain.trim()) || shortInBase64.has(withoutPadding(base64.text))) return mark;
      for (const form of forms) {
        for (const pattern of form.plain) {
          const { length } = pattern.text;
          pattern.findIn(plain, (index) => covered.add(reading, index, index + length));
        }
        for (const { pattern, before, after } of form.base64) {
          const { length } = pattern.text;
          pattern.findIn(base64.text, (index) => {
            covered.add(base64, ...widened(base64.text, index, index + length, before, after));
          });
        }
      }
    }
    return covered.replaceIn(original, mark);
  }
}

/** The span with its neighbours, where these are characters of base64. */
function widened(
  text: string,
  start: number,
  end: number,
  before: number,
  after: number,
): readonly [number, number] {
  const isBase64 = (index: number): boolean => /[A-Za-z0-9+/]/.test(text[index] ?? "");
  return [isBase64(start - 1) ? start - before : start, isBase64(end) ? end + after : end];
}

/** The parts of a text that are to go. */
class Cover {
  readonly #length: number;
  /** How many parts begin at each place, less how many end there. */
  #changes: Int32Array | null = null;

  constructor(length: number) {
    this.#length = length;
  }

  /** Adds what a span of a reading came from. */
  add({ origin }: DecodedText, start: number, end: number): void {
    this.#changes ??= new Int32Array(this.#length + 1);
    this.#change(origin?.starts[start] ?? start, 1);
    this.#change(origin?.ends[end - 1] ?? end, -1);
  }

  replaceIn(original: string, mark: string): string {
    if (this.#changes === null) return original;
    let text = "";
    let depth = 0;
    let from = 0;
    for (const [index, change] of this.#changes.entries()) {
      if (change === 0) continue;
      if (depth === 0) text += original.slice(from, index) + mark;
      depth += change;
      if (depth === 0) from = index;
    }
    return text + original.slice(from);
  }

  #change(index: number, by: number): void {
    if (this.#changes !== null) this.#changes[index] = (this.#changes[index] ?? 0) + by;
  }
}

function markFor(values: readonly string[]): string {
  const isSafe = (mark: string): boolean =>
    values.every(
      (value) =>
        !mark.includes(value) && !value.includes(mark.slice(0, 1)) && !value.includes(mark.slice(-1)),
    );
  return MARKS.find(isSafe) ?? "";
}

function base64Of(value: string): string {
  return withoutPadding(Buffer.from(value).toString("base64"));
}

function withoutPadding(base64: string): string {
  return base64.replace(/=+$/, "");
}

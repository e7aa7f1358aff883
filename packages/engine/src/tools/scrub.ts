// Removes secret values from what tools return: results, progress, errors and questions to a person. This is
// defence in depth: a malicious tool can always encode a value in a way that the scrubber does not know.
//
// Call it on clean text, because `cleanText` may join text around a NUL, and before cutting, so that no part
// of a value is left at the end.

import type { JsonValue } from "../core/json.ts";
import { readings, withoutHexSeparators, withoutWhiteSpace, type DecodedText } from "./scrub/decoded-text.ts";
import { folded, formsOf, MINIMUM_LENGTH } from "./scrub/secret-forms.ts";

/** Replacements for a value. The first replacement that no value can contain or overlap is used. */
const MARKS = ["[secret]", "<hidden>", "***", "###", "\u2588\u2588\u2588"];

/** Returns a copy of a value without the secrets. */
export type Scrubber = (value: JsonValue) => JsonValue;

/**
 * Creates a scrubber for these values. In every string, key and number it replaces each occurrence of each
 * value, also where they overlap. It finds a value:
 *
 * - as it is, or in another letter case;
 * - in base64: both alphabets, padded or not, at any offset, broken into lines, or encoded twice;
 * - in hexadecimal, also with spaces, colons, commas or `0x` between the digits;
 * - with any of its characters escaped for URLs, forms, JSON (including `\uXXXX`) or HTML, also one escape
 *   within another.
 *
 * White space around a value is ignored. A value of less than four characters is replaced only as a whole
 * string. Takes time proportional to the size of the input times the number of values.
 */
export function createScrubber(values: Iterable<string>): Scrubber {
  const trimmed = [...new Set(values)].map((value) => value.trim()).filter((value) => value !== "");
  if (trimmed.length === 0) return (value) => value;
  const isLong = (value: string): boolean => value.length >= MINIMUM_LENGTH;
  const forms = formsOf(trimmed.filter(isLong));
  // Short values are replaced only as whole strings.
  const short = trimmed.filter((value) => !isLong(value));
  const wholes = new Set(short.map(folded));
  const wholesInBase64 = new Set(short.map(base64Of));
  const mark = markFor(trimmed);
  return (value) =>
    scrub(value, (original) => {
      const covered = new Cover(original.length);
      for (const reading of readings(original)) {
        const plain = folded(reading.text);
        const unbroken = withoutWhiteSpace(reading);
        const base64 = inStandardAlphabet(unbroken.text);
        if (wholes.has(plain.trim()) || wholesInBase64.has(withoutPadding(base64))) return mark;
        forms.plain.findIn(plain, (_, start, end) => covered.add(reading, start, end));
        const hex = withoutHexSeparators(reading);
        if (hex !== null) {
          forms.hex.findIn(hex.text.toLowerCase(), (_, start, end) => covered.add(hex, start, end));
        }
        forms.base64.findIn(base64, ({ before, after }, start, end) => {
          covered.add(unbroken, ...widened(base64, start, end, before, after));
        });
      }
      return covered.replaceIn(original, mark);
    });
}

/** Returns the text without the secrets. */
export function scrubText(scrub: Scrubber, text: string): string {
  const scrubbed = scrub(text);
  return typeof scrubbed === "string" ? scrubbed : "";
}

function scrub(value: JsonValue, replaceIn: (text: string) => string): JsonValue {
  if (typeof value === "string") return replaceIn(value);
  if (typeof value === "number") {
    const digits = String(value);
    const scrubbed = replaceIn(digits);
    return scrubbed === digits ? value : scrubbed;
  }
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => scrub(item, replaceIn));
  const entries = new Map<string, JsonValue>();
  for (const [key, item] of Object.entries(value)) {
    const scrubbed = replaceIn(key);
    // Two keys may have become equal; keep both of their values.
    let name = scrubbed;
    for (let count = 2; entries.has(name); count += 1) name = `${scrubbed} ${count}`;
    entries.set(name, scrub(item, replaceIn));
  }
  // Unlike assignment, `fromEntries` keeps `__proto__` an ordinary key.
  return Object.fromEntries(entries);
}

/** Extends the span to neighbouring base64 characters that hold bits of the value. */
function widened(
  text: string,
  start: number,
  end: number,
  before: number,
  after: number,
): readonly [number, number] {
  const isBase64 = (index: number): boolean => /[A-Za-z0-9+/]/.test(text[index] ?? "");
  let [first, last] = [start, end];
  while (start - first < before && isBase64(first - 1)) first -= 1;
  while (last - end < after && isBase64(last)) last += 1;
  return [first, last];
}

/** The spans of a text to replace. */
class Cover {
  readonly #length: number;
  /** For each index, the number of spans that begin there minus the number that end there. */
  #changes: Int32Array | null = null;

  constructor(length: number) {
    this.#length = length;
  }

  /** Adds the span of the original from which a span of a reading was decoded. */
  add(reading: DecodedText, start: number, end: number): void {
    this.#changes ??= new Int32Array(this.#length + 1);
    const [first, last] = reading.originOf(start, end);
    this.#changes[first] = (this.#changes[first] ?? 0) + 1;
    this.#changes[last] = (this.#changes[last] ?? 0) - 1;
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
}

function markFor(values: readonly string[]): string {
  const plain = values.map(folded);
  const fits = (mark: string, value: string): boolean =>
    !mark.includes(value) && !value.includes(mark.slice(0, 1)) && !value.includes(mark.slice(-1));
  return MARKS.find((mark) => plain.every((value) => fits(mark, value))) ?? "";
}

function base64Of(value: string): string {
  return withoutPadding(Buffer.from(value).toString("base64"));
}

/** Maps the URL-safe alphabet to the standard one (RFC 4648 section 4). Keeps the length. */
function inStandardAlphabet(base64: string): string {
  return base64.replaceAll("-", "+").replaceAll("_", "/");
}

function withoutPadding(base64: string): string {
  return base64.replace(/=+$/, "");
}

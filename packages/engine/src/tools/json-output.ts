// Converts tool results, which are untrusted, into plain JSON of bounded size before they are stored or sent.

import { type JsonValue, cleanText } from "../core/json.ts";

const maximumDepth = 64;

/**
 * Returns a copy of a value as JSON, without NUL and lone surrogates (contract section 6). As with
 * `JSON.stringify`, `toJSON` is called and undefined properties are omitted; `undefined` itself becomes
 * `null`.
 *
 * @throws TypeError naming the path of a value that JSON cannot hold, also where `JSON.stringify` would drop
 *   or change it silently: functions, symbols, NaN, infinite numbers, instances of classes without `toJSON`,
 *   cycles, and nesting beyond 64 levels.
 */
export function toJson(value: unknown): JsonValue {
  return value === undefined ? null : convert(value, "output", 0);
}

function convert(value: unknown, path: string, depth: number): JsonValue {
  switch (typeof value) {
    case "string":
      return cleanText(value);
    case "boolean":
      return value;
    case "number":
      if (!Number.isFinite(value)) throw new TypeError(`${path} is ${value}, which JSON cannot hold`);
      return value;
    case "object":
      return value === null ? null : convertObject(value, path, depth);
    default:
      throw new TypeError(`${path} is of the type ${typeof value}, which JSON cannot hold`);
  }
}

function convertObject(value: object, path: string, depth: number): JsonValue {
  // This check also ends cycles.
  if (depth === maximumDepth) throw new TypeError(`${path} is nested deeper than ${maximumDepth} levels`);
  if (Array.isArray(value)) {
    return Array.from(value, (item: unknown, index) => convert(item, `${path}[${index}]`, depth + 1));
  }
  if ("toJSON" in value && typeof value.toJSON === "function") {
    const replacement: unknown = value.toJSON();
    return convert(replacement, path, depth + 1);
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) {
    throw new TypeError(`${path} is an instance of a class, which JSON cannot hold`);
  }
  const entries: Array<readonly [string, JsonValue]> = [];
  for (const [key, item] of Object.entries(value)) {
    if (item !== undefined) entries.push([cleanText(key), convert(item, `${path}.${key}`, depth + 1)]);
  }
  // Unlike assignment, `fromEntries` keeps `__proto__` an ordinary key.
  return Object.fromEntries(entries);
}

/**
 * Returns the value itself if its JSON has at most `limit` bytes of UTF-8. Otherwise returns a string of at
 * most `limit` bytes as JSON: the beginning of the string (or of the JSON text) and a note that it was cut.
 * `size` is the original size in bytes if the value has already been shortened.
 */
export function fitJson(value: JsonValue, limit: number, size = jsonBytes(value)): JsonValue {
  if (size <= limit) return value;
  return cutText(typeof value === "string" ? value : JSON.stringify(value), limit, `${size} bytes`);
}

/** Returns the beginning of a longer text and a note of its full size, in at most `limit` bytes of JSON. */
export function cutText(text: string, limit: number, wholeSize: string): string {
  const note = `\n[Cut: this is the beginning of ${wholeSize}.]`;
  let fits = 0;
  let tooLong = Math.min(text.length, limit) + 1; // no character takes less than a byte
  while (tooLong - fits > 1) {
    const middle = (fits + tooLong) >>> 1;
    if (jsonBytes(text.slice(0, middle).toWellFormed() + note) <= limit) fits = middle;
    else tooLong = middle;
  }
  // If the cut splits a surrogate pair, drop its first half instead of showing a replacement character.
  const whole = text.slice(0, fits).isWellFormed() ? fits : fits - 1;
  return text.slice(0, whole) + note;
}

/** Returns the size of the value's JSON text in bytes of UTF-8. */
export function jsonBytes(value: JsonValue): number {
  return Buffer.byteLength(JSON.stringify(value));
}

// What a tool answers is somebody else's value: before it is stored, sent and shown it becomes plain JSON of bounded size.

import type { JsonValue } from "../core/json.ts";
import { cleanText } from "../core/text.ts";

const maximumDepth = 64;

/**
 * A copy of a value as JSON, its text cleaned of NUL and lone surrogates (contract section 6). As with `JSON.stringify`, a `toJSON`
 * method speaks for its object and properties that are undefined are left out; `undefined` itself, which is what a tool with
 * nothing to say returns, is null.
 *
 * @throws TypeError that names what is not JSON and where, for what `JSON.stringify` refuses and for what it would lose in silence:
 *   functions, symbols, NaN, infinite numbers, instances of classes without `toJSON`, loops, nesting beyond 64 levels.
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
  // A loop ends here too.
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
  // Not by assignment: a key `__proto__` is a key like any other.
  return Object.fromEntries(entries);
}

/**
 * The value itself when its JSON text has at most `limit` bytes of UTF-8; otherwise a text of at most `limit` bytes as JSON: the
 * beginning of the value (of its JSON text, where it is not a text itself) and a note that it was cut. `size` is how many bytes it had as a
 * whole, where it has been shortened already.
 */
export function fitJson(value: JsonValue, limit: number, size = jsonBytes(value)): JsonValue {
  if (size <= limit) return value;
  return cutText(typeof value === "string" ? value : JSON.stringify(value), limit, `${size} bytes`);
}

/** The beginning of a text that was longer, with a note that says how long: at most `limit` bytes as JSON. */
export function cutText(text: string, limit: number, wholeSize: string): string {
  const note = `\n[Cut: this is the beginning of ${wholeSize}.]`;
  let fits = 0;
  let tooLong = Math.min(text.length, limit) + 1; // no character takes less than a byte
  while (tooLong - fits > 1) {
    const middle = (fits + tooLong) >>> 1;
    if (jsonBytes(text.slice(0, middle).toWellFormed() + note) <= limit) fits = middle;
    else tooLong = middle;
  }
  // A cut between the halves of a character loses the first half, rather than showing a replacement character.
  const whole = text.slice(0, fits).isWellFormed() ? fits : fits - 1;
  return text.slice(0, whole) + note;
}

/** Bytes of UTF-8 that the value has as JSON text. */
export function jsonBytes(value: JsonValue): number {
  return Buffer.byteLength(JSON.stringify(value));
}

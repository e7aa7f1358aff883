import type { JsonValue } from "../core/json.ts";
import { cleanText } from "../core/text.ts";

/** Deeper than anything a tool asks for, and shallow enough for whoever reads it recursively. */
const MAX_DEPTH = 64;

/**
 * The value with its text cleaned of NUL and lone surrogates (contract section 6). What is nested deeper than 64 levels, and a
 * number beyond what JSON can hold, becomes `null`. Clean values come out as they went in, key order included.
 */
export function cleanJson(value: JsonValue): JsonValue {
  return clean(value, 0);
}

function clean(value: JsonValue, depth: number): JsonValue {
  if (typeof value === "string") return cleanText(value);
  // What JSON writes as 1e400 is read as a number that JSON cannot hold.
  if (typeof value === "number") return Number.isFinite(value) ? value : null;
  if (typeof value !== "object" || value === null) return value;
  if (depth === MAX_DEPTH) return null;
  if (Array.isArray(value)) return value.map((item) => clean(item, depth + 1));
  // Not by assignment: a key `__proto__` is a key like any other.
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [cleanText(key), clean(item, depth + 1)]),
  );
}

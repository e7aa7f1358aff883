import type { JsonValue } from "../core/json.ts";
import { cleanText } from "../core/text.ts";

/** Deeper than any tool's input, and shallow enough for recursive readers. */
const MAX_DEPTH = 64;

/**
 * Replaces NUL and lone surrogates in all strings (contract section 6). Values nested deeper than 64 levels
 * and non-finite numbers become `null`. Clean values are unchanged, including key order.
 */
export function cleanJson(value: JsonValue): JsonValue {
  return clean(value, 0);
}

function clean(value: JsonValue, depth: number): JsonValue {
  if (typeof value === "string") return cleanText(value);
  // `JSON.parse` reads 1e400 as Infinity, which JSON cannot represent.
  if (typeof value === "number") return Number.isFinite(value) ? value : null;
  if (typeof value !== "object" || value === null) return value;
  if (depth === MAX_DEPTH) return null;
  if (Array.isArray(value)) return value.map((item) => clean(item, depth + 1));
  // `fromEntries`, because assignment to a key `__proto__` would set the prototype.
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [cleanText(key), clean(item, depth + 1)]),
  );
}

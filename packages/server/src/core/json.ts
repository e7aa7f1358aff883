export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;
export type JsonObject = { [key: string]: JsonValue };

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns the nesting depth: 0 for a plain value, 1 for `{}` and `[1]`, 2 for `[[1]]`. */
export function jsonDepth(value: JsonValue): number {
  if (typeof value !== "object" || value === null) return 0;
  let deepest = 0;
  for (const inner of Object.values(value)) deepest = Math.max(deepest, jsonDepth(inner));
  return deepest + 1;
}

/** Compares two JSON values deeply, ignoring the order of keys. */
export function sameJson(left: JsonValue, right: JsonValue): boolean {
  if (left === right) return true;
  if (Array.isArray(left) || Array.isArray(right)) {
    return (
      Array.isArray(left) &&
      Array.isArray(right) &&
      left.length === right.length &&
      left.every((value, index) => sameJson(value, right[index] ?? null))
    );
  }
  if (!isJsonObject(left) || !isJsonObject(right)) return false;
  const keys = Object.keys(left);
  return (
    keys.length === Object.keys(right).length &&
    keys.every((key) => Object.hasOwn(right, key) && sameJson(left[key] ?? null, right[key] ?? null))
  );
}

/** Returns true if every store and client accepts this text: no NUL (PostgreSQL rejects it), no lone surrogate (contract section 6). */
export function isCleanText(text: string): boolean {
  return text.isWellFormed() && !text.includes("\0");
}

/** Removes NUL and replaces lone surrogates by U+FFFD in text of models and tools; clients get a 400 for it. */
export function cleanText(text: string): string {
  return isCleanText(text) ? text : text.replaceAll("\0", "").toWellFormed();
}

/** Maximum depth of cleaned JSON: deeper than any tool's input, and shallow enough for recursive readers. */
const MAX_DEPTH = 64;

/** Cleans all strings, and replaces values deeper than 64 levels and non-finite numbers by `null`. Keeps the order of keys. */
export function cleanJson(value: JsonValue, depth = 0): JsonValue {
  if (typeof value === "string") return cleanText(value);
  // `JSON.parse` reads 1e400 as Infinity, which JSON cannot represent.
  if (typeof value === "number") return Number.isFinite(value) ? value : null;
  if (typeof value !== "object" || value === null) return value;
  if (depth === MAX_DEPTH) return null;
  if (Array.isArray(value)) return value.map((item) => cleanJson(item, depth + 1));
  // `fromEntries`, because assignment to a key `__proto__` would set the prototype.
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [cleanText(key), cleanJson(item, depth + 1)]),
  );
}

/** Decodes percent-encoding. Returns text that is not valid percent-encoding unchanged. */
export function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

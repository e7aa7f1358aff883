export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;
export type JsonObject = { [key: string]: JsonValue };

/** Returns true for an object that is no array. Does not check its values. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns true unless the object is an instance of a class, such as a Map or a promise. */
export function isPlainObject(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}

/** Returns true if arrays and objects are nested deeper than `levels`: `{}` and `[1]` have one level, `[[1]]` two. */
export function isDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((inner) => isDeeperThan(levels - 1, inner));
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

/**
 * Returns true if every store and client accepts this text: no NUL (PostgreSQL rejects it), no lone surrogate
 * (contract section 6).
 */
export function isCleanText(text: string): boolean {
  return text.isWellFormed() && !text.includes("\0");
}

/** Removes NUL and replaces lone surrogates by U+FFFD in text of models and tools; unlike for clients, who get a 400. */
export function cleanText(text: string): string {
  return isCleanText(text) ? text : text.replaceAll("\0", "").toWellFormed();
}

/** Maximum depth of cleaned JSON: deeper than any tool's input, and shallow enough for recursive readers. */
const MAX_DEPTH = 64;

/**
 * Sanitizes all strings, and replaces values deeper than 64 levels and non-finite numbers by `null`. Keeps
 * the order of keys.
 */
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

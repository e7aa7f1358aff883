export type JsonValue = string | number | boolean | null | JsonValue[] | JsonObject;
export type JsonObject = { [key: string]: JsonValue };

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Nesting of arrays and objects: 0 for a plain value, 1 for `{}` and `[1]`, 2 for `[[1]]`. */
export function jsonDepth(value: JsonValue): number {
  if (typeof value !== "object" || value === null) return 0;
  let deepest = 0;
  for (const inner of Object.values(value)) deepest = Math.max(deepest, jsonDepth(inner));
  return deepest + 1;
}

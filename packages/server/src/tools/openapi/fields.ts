// Accessors for untrusted JSON, whose fields may have any type.

import { isJsonObject, type JsonObject, type JsonValue } from "../../core/json.ts";
import { cleanText } from "../../core/text.ts";

/** Returns the field if it is an object, else `null`. */
export function objectAt(object: JsonObject | null, field: string): JsonObject | null {
  const value = valueAt(object, field) ?? null;
  return isJsonObject(value) ? value : null;
}

/** Returns the field if it is an array, else an empty one. */
export function listAt(object: JsonObject | null, field: string): readonly JsonValue[] {
  const value = valueAt(object, field);
  return Array.isArray(value) ? value : [];
}

/** Returns the field if it is a string, else an empty one. */
export function textAt(object: JsonObject | null, field: string): string {
  const value = valueAt(object, field);
  return typeof value === "string" ? value : "";
}

function valueAt(object: JsonObject | null, field: string): JsonValue | undefined {
  return object !== null && Object.hasOwn(object, field) ? object[field] : undefined;
}

/** Returns true if a value contains at most `limit` values. Values with cycles exceed every limit. */
export function isSmall(value: JsonValue, limit: number): boolean {
  return countDown(value, limit) >= 0;
}

function countDown(value: JsonValue, left: number): number {
  let rest = left - 1;
  if (typeof value !== "object" || value === null) return rest;
  for (const inner of Object.values(value)) {
    if (rest < 0) return rest;
    rest = countDown(inner, rest);
  }
  return rest;
}

/** Returns clean text of at most `limit` characters; longer text ends in `…`. */
export function cutText(text: string, limit: number): string {
  const clean = cleanText(text).trim();
  return clean.length <= limit ? clean : `${clean.slice(0, limit - 1).toWellFormed()}…`;
}

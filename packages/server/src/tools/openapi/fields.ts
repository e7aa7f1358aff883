// Reading JSON that somebody else has written: nothing in it needs to be what it should be.

import { isJsonObject, type JsonObject, type JsonValue } from "../../core/json.ts";
import { cleanText } from "../../core/text.ts";

/** The field when it is an object, else `null`. */
export function objectAt(object: JsonObject | null, field: string): JsonObject | null {
  const value = valueAt(object, field) ?? null;
  return isJsonObject(value) ? value : null;
}

/** The field when it is a list, else an empty one. */
export function listAt(object: JsonObject | null, field: string): readonly JsonValue[] {
  const value = valueAt(object, field);
  return Array.isArray(value) ? value : [];
}

/** The field when it is a text, else an empty one. */
export function textAt(object: JsonObject | null, field: string): string {
  const value = valueAt(object, field);
  return typeof value === "string" ? value : "";
}

function valueAt(object: JsonObject | null, field: string): JsonValue | undefined {
  return object !== null && Object.hasOwn(object, field) ? object[field] : undefined;
}

/** Whether a value has at most `limit` values in it. One that YAML has tied into itself has more than any limit. */
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

/** Clean text of at most `limit` characters; one that is longer ends in `…`. */
export function cutText(text: string, limit: number): string {
  const clean = cleanText(text).trim();
  return clean.length <= limit ? clean : `${clean.slice(0, limit - 1).toWellFormed()}…`;
}

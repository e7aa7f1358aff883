// Accessors for untrusted JSON, whose fields may have any type, and for `$ref` within a document. External references are
// rejected: only the configured document is used.

import { cleanText, isJsonObject, type JsonObject, type JsonValue } from "@colloquy/engine/tool-source";

/** Returns the field if it is an object; `null` otherwise. */
export function objectAt(object: JsonObject | null, field: string): JsonObject | null {
  const value = valueAt(object, field) ?? null;
  return isJsonObject(value) ? value : null;
}

/** Returns the field if it is an array; an empty array otherwise. */
export function listAt(object: JsonObject | null, field: string): readonly JsonValue[] {
  const value = valueAt(object, field);
  return Array.isArray(value) ? value : [];
}

/** Returns the field if it is a string; "" otherwise. */
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

const maximumSteps = 16;

/** A resolved reference and its location; for any other value, the value itself without a location. */
interface Found {
  readonly value: JsonValue;
  /** The last followed reference, such as `#/components/schemas/Pet`. */
  readonly reference: string | null;
}

/**
 * Follows a chain of references. Siblings of `$ref` (a description) override fields of the target.
 *
 * @throws Error naming a reference that is dangling, external or circular.
 */
export function follow(document: JsonObject, value: JsonValue): Found {
  let found = value;
  let reference: string | null = null;
  for (let step = 0; isJsonObject(found) && typeof found["$ref"] === "string"; step += 1) {
    const { $ref, ...beside } = found;
    reference = $ref;
    if (step === maximumSteps) throw new Error(`The reference ${cut(reference)} is circular.`);
    const target = lookUp(document, reference);
    found = isJsonObject(target) ? { ...target, ...beside } : target;
  }
  return { value: found, reference };
}

function lookUp(document: JsonObject, reference: string): JsonValue {
  if (!reference.startsWith("#")) {
    throw new Error(`The reference ${cut(reference)} is external. Bundle the document into one file.`);
  }
  let value: JsonValue = document;
  for (const part of pointerOf(reference)) {
    const next: JsonValue | undefined =
      typeof value === "object" && value !== null && Object.hasOwn(value, part)
        ? (value as JsonObject)[part]
        : undefined;
    if (next === undefined) throw new Error(`The reference ${cut(reference)} does not resolve.`);
    value = next;
  }
  return value;
}

/** Returns the parts of a JSON Pointer in a fragment (RFC 6901 section 6). */
function pointerOf(reference: string): readonly string[] {
  const parts = reference.slice(1).split("/").slice(1);
  try {
    return parts.map((part) => decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~"));
  } catch {
    throw new Error(`The reference ${cut(reference)} is not valid.`);
  }
}

function cut(reference: string): string {
  return reference.length > 200 ? `${reference.slice(0, 200)}…` : reference;
}

// Resolves `$ref` within a document. Rejects external references: only the configured document is used.

import { isJsonObject, type JsonObject, type JsonValue } from "../../core/json.ts";

const maximumSteps = 16;

/** A resolved reference and its location; for any other value, the value itself without a location. */
export interface Found {
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
    if (step === maximumSteps) throw new Error(`The reference ${cut(reference)} leads in a circle.`);
    const target = lookUp(document, reference);
    found = isJsonObject(target) ? { ...target, ...beside } : target;
  }
  return { value: found, reference };
}

function lookUp(document: JsonObject, reference: string): JsonValue {
  if (!reference.startsWith("#")) {
    throw new Error(`The reference ${cut(reference)} leads out of the document. Bundle it into one.`);
  }
  let value: JsonValue = document;
  for (const part of pointerOf(reference)) {
    const next: JsonValue | undefined =
      typeof value === "object" && value !== null && Object.hasOwn(value, part)
        ? (value as JsonObject)[part]
        : undefined;
    if (next === undefined) throw new Error(`The reference ${cut(reference)} leads nowhere.`);
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

// The demo model's answers in a JSON Schema.

import { isJsonObject, type JsonObject, type JsonValue } from "../core/json.ts";

/** Maximum levels: a schema may refer to itself. */
const maximumDepth = 16;
/** Maximum characters and values: a schema may ask for a thousand lists of a thousand lists. */
const maximumSize = 256 * 1024;

/**
 * Returns an object for a JSON Schema: every property, the first of several values, the fewest items, and `text` wherever a string
 * may be anything. It need not match: `not`, `uniqueItems` and the like are ignored.
 */
export function demoJson(schema: JsonObject, text: string): JsonValue {
  return valueOf(schema, { root: schema, text, depth: 0, budget: { left: maximumSize } });
}

interface Place {
  readonly root: JsonObject;
  readonly text: string;
  readonly depth: number;
  /** Shared by all places. Beyond it, every value is `null`. */
  readonly budget: { left: number };
}

function valueOf(schema: JsonValue | undefined, place: Place): JsonValue {
  place.budget.left -= 1;
  if (!isJsonObject(schema) || place.depth > maximumDepth || place.budget.left < 0) return null;
  const inner = { ...place, depth: place.depth + 1 };
  const chosen = [schema["anyOf"], schema["oneOf"]].find(Array.isArray)?.[0] ?? referred(schema, place.root);
  if (chosen !== undefined && schema["properties"] === undefined) return valueOf(chosen, inner);
  if ("const" in schema) return schema["const"] ?? null;
  if (Array.isArray(schema["enum"])) return schema["enum"][0] ?? null;
  const type = Array.isArray(schema["type"]) ? schema["type"][0] : schema["type"];
  switch (type) {
    case "string":
      return stringOf(schema, place);
    case "integer":
    case "number":
      return numberOf(schema);
    case "boolean":
      return true;
    case "array":
      return Array.from({ length: count(schema["minItems"]) }, () => valueOf(schema["items"], inner));
    case "null":
      return null;
    default:
      return objectOf(schema, inner);
  }
}

function objectOf(schema: JsonObject, inner: Place): JsonObject {
  const properties = isJsonObject(schema["properties"]) ? schema["properties"] : {};
  const required = new Set(Array.isArray(schema["required"]) ? schema["required"] : []);
  const names = Object.keys(properties);
  inner.budget.left -= names.length + required.size;
  // A schema that refers to itself ends where a property is optional.
  const kept = inner.depth > 3 ? names.filter((name) => required.has(name)) : names;
  return Object.fromEntries(kept.map((name) => [name, valueOf(properties[name], inner)]));
}

function referred({ $ref: reference }: JsonObject, root: JsonObject): JsonValue | undefined {
  if (reference === "#") return root;
  const [, group, name] = typeof reference === "string" ? reference.split("/") : [];
  const definitions = group === undefined ? undefined : root[group];
  return isJsonObject(definitions) && name !== undefined ? definitions[name] : undefined;
}

function stringOf({ minLength, maxLength }: JsonObject, { text, budget }: Place): string {
  const value = text
    .slice(0, typeof maxLength === "number" ? maxLength : undefined)
    .padEnd(count(minLength), ".");
  budget.left -= value.length;
  return value;
}

function numberOf({ minimum, exclusiveMinimum, maximum, exclusiveMaximum }: JsonObject): number {
  if (typeof minimum === "number") return Math.ceil(minimum);
  if (typeof exclusiveMinimum === "number") return Math.floor(exclusiveMinimum) + 1;
  if (typeof maximum === "number") return Math.min(0, Math.floor(maximum));
  return typeof exclusiveMaximum === "number" ? Math.min(0, Math.ceil(exclusiveMaximum) - 1) : 0;
}

/** Limited, because a schema may ask for any number of items or characters. */
function count(minimum: JsonValue | undefined): number {
  return typeof minimum === "number" ? Math.min(Math.max(0, Math.ceil(minimum)), 1_000) : 0;
}

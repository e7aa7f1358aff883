// Sanitizes a server's JSON Schema for models: removes only the parts that would make a provider reject the
// request or the store reject the text. Otherwise, one tool would fail every turn of its App.

import { cleanJson, decodePercent, isJsonObject, type JsonObject, type JsonValue } from "../../core/json.ts";

/** Keywords whose values are data, not schemas. */
const DATA: ReadonlySet<string> = new Set(["const", "default", "enum", "examples", "example", "required"]);
/** Keywords whose values map names to schemas. */
const MAPS: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "$defs",
  "definitions",
  "dependentSchemas",
]);
const REFERENCES: ReadonlySet<string> = new Set(["$ref", "$dynamicRef"]);
const NAMES: ReadonlySet<string> = new Set(["$anchor", "$dynamicAnchor"]);

/**
 * Returns a copy with clean text, without invalid regular expressions and dangling references. Recursive: the
 * schema's depth must be bounded.
 */
export function sanitizeSchema(schema: JsonValue): JsonValue {
  const root = cleanJson(schema);
  return sanitize(root, { root, anchors: anchorsIn(root, new Set()) });
}

interface Whole {
  readonly root: JsonValue;
  /** Anchors in the form of references: `#name`. */
  readonly anchors: ReadonlySet<string>;
}

function sanitize(schema: JsonValue, whole: Whole): JsonValue {
  if (Array.isArray(schema)) return schema.map((item) => sanitize(item, whole));
  if (!isJsonObject(schema)) return schema;
  const entries = Object.entries(schema).flatMap(([key, value]): Array<[string, JsonValue]> => {
    if (DATA.has(key)) return [[key, value]];
    if (key === "pattern" && typeof value === "string" && !isPattern(value)) return [];
    if (REFERENCES.has(key) && typeof value === "string" && !resolves(value, whole)) return [];
    if (!MAPS.has(key) || !isJsonObject(value)) return [[key, sanitize(value, whole)]];
    const named = Object.entries(value)
      .filter(([name]) => key !== "patternProperties" || isPattern(name))
      .map(([name, inner]) => [name, sanitize(inner, whole)] as const);
    return [[key, Object.fromEntries(named)]];
  });
  return Object.fromEntries(entries);
}

function isPattern(text: string): boolean {
  return ["u", ""].some((flags) => {
    try {
      return new RegExp(text, flags) instanceof RegExp;
    } catch {
      return false;
    }
  });
}

/** Returns true if a reference resolves within the schema: by JSON Pointer (RFC 6901 section 6) or anchor. */
function resolves(reference: string, { root, anchors }: Whole): boolean {
  if (!reference.startsWith("#")) return false;
  if (reference === "#" || anchors.has(reference)) return true;
  if (!reference.startsWith("#/")) return false;
  let place: JsonValue | undefined = root;
  for (const part of reference.slice(2).split("/")) {
    const name = decodePercent(part).replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof place !== "object" || place === null || !Object.hasOwn(place, name)) return false;
    place = (place as JsonObject)[name];
  }
  return isJsonObject(place ?? null) || typeof place === "boolean";
}

function anchorsIn(value: JsonValue, found: Set<string>): ReadonlySet<string> {
  if (typeof value !== "object" || value === null) return found;
  for (const [key, inner] of Object.entries(value)) {
    if (NAMES.has(key) && typeof inner === "string") found.add(`#${inner}`);
    else anchorsIn(inner, found);
  }
  return found;
}

const COPIED: ReadonlySet<string> = new Set(
  (
    "type enum const required minimum maximum exclusiveMinimum exclusiveMaximum minLength maxLength " +
    "minItems maxItems"
  ).split(" "),
);
const ALTERNATIVES: ReadonlySet<string> = new Set(["anyOf", "oneOf"]);
const MAX_BRANCHES = 16;
const MAX_NESTED_ALTERNATIVES = 2;
const MAX_DEPTH = 32;

/**
 * Reduces a server's JSON Schema to the part that is checked here. The server checks its input itself; the
 * check only saves calls that cannot succeed, and must not block this process: no patterns (regular
 * expressions can run forever), no references, and few nested alternatives (the number of combinations can
 * explode). The model gets the whole schema.
 *
 * @returns a schema that is cheap to check and accepts everything that `schema` accepts
 */
export function checkableSchema(schema: JsonValue, depth = 0, alternatives = 0): JsonObject {
  if (!isJsonObject(schema) || depth > MAX_DEPTH) return {};
  // A reference may change the meaning of its sibling keywords.
  if ("$ref" in schema || "$dynamicRef" in schema) return {};
  const inner = (value: JsonValue): JsonObject => checkableSchema(value, depth + 1, alternatives);
  const result: JsonObject = {};
  for (const [key, value] of Object.entries(schema)) {
    if (COPIED.has(key)) result[key] = value;
    else if (key === "properties" && isJsonObject(value)) {
      result[key] = Object.fromEntries(
        Object.entries(value).map(([name, property]) => [name, inner(property)]),
      );
    } else if (key === "items" && isJsonObject(value)) result[key] = inner(value);
    // Which properties are additional depends on `patternProperties`, which is not checked.
    else if (key === "additionalProperties" && !("patternProperties" in schema)) {
      result[key] = typeof value === "boolean" ? value : inner(value);
    } else if (ALTERNATIVES.has(key) && Array.isArray(value) && value.length <= MAX_BRANCHES) {
      if (alternatives === MAX_NESTED_ALTERNATIVES) continue;
      // `oneOf` becomes `anyOf`: several simplified branches may match where one did.
      result["anyOf"] = value.map((branch) => checkableSchema(branch, depth + 1, alternatives + 1));
    }
  }
  return result;
}

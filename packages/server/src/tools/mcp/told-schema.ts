// The JSON Schema of a server's tool as models are told it: whole, but for what would have a provider refuse the request or the store the
// text. One tool would then cost every turn of its App.

import { isJsonObject, type JsonObject, type JsonValue } from "../../core/json.ts";
import { cleanText } from "../../core/text.ts";

/** Under these stand values, not schemas. */
const DATA: ReadonlySet<string> = new Set(["const", "default", "enum", "examples", "example", "required"]);
/** Under these stand schemas by name. */
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
 * A copy with clean text, without patterns that are no regular expressions and without references that lead nowhere within the schema.
 * Not for schemas of unbounded depth.
 */
export function toldSchema(schema: JsonValue): JsonValue {
  const root = cleaned(schema);
  return told(root, { root, anchors: anchorsIn(root, new Set()) });
}

interface Whole {
  readonly root: JsonValue;
  /** As references name them: `#name`. */
  readonly anchors: ReadonlySet<string>;
}

function told(schema: JsonValue, whole: Whole): JsonValue {
  if (Array.isArray(schema)) return schema.map((item) => told(item, whole));
  if (!isJsonObject(schema)) return schema;
  const entries = Object.entries(schema).flatMap(([key, value]): Array<[string, JsonValue]> => {
    if (DATA.has(key)) return [[key, value]];
    if (key === "pattern" && typeof value === "string" && !isPattern(value)) return [];
    if (REFERENCES.has(key) && typeof value === "string" && !leadsSomewhere(value, whole)) return [];
    if (!MAPS.has(key) || !isJsonObject(value)) return [[key, told(value, whole)]];
    const named = Object.entries(value)
      .filter(([name]) => key !== "patternProperties" || isPattern(name))
      .map(([name, inner]) => [name, told(inner, whole)] as const);
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

/** Whether a reference is to a part of the schema itself: by a JSON Pointer (RFC 6901 section 6) or by an anchor. */
function leadsSomewhere(reference: string, { root, anchors }: Whole): boolean {
  if (!reference.startsWith("#")) return false;
  if (reference === "#" || anchors.has(reference)) return true;
  if (!reference.startsWith("#/")) return false;
  let place: JsonValue | undefined = root;
  for (const part of reference.slice(2).split("/")) {
    const name = decoded(part).replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof place !== "object" || place === null || !Object.hasOwn(place, name)) return false;
    place = (place as JsonObject)[name];
  }
  return isJsonObject(place ?? null) || typeof place === "boolean";
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function anchorsIn(value: JsonValue, found: Set<string>): ReadonlySet<string> {
  if (typeof value !== "object" || value === null) return found;
  for (const [key, inner] of Object.entries(value)) {
    if (NAMES.has(key) && typeof inner === "string") found.add(`#${inner}`);
    else anchorsIn(inner, found);
  }
  return found;
}

function cleaned(value: JsonValue): JsonValue {
  if (typeof value === "string") return cleanText(value);
  if (Array.isArray(value)) return value.map(cleaned);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [cleanText(key), cleaned(inner)]));
}

// Sanitizes a server's JSON Schema for models: removes only the parts that would make a provider reject the
// request or the store reject the text. Otherwise, one tool would fail every turn of its App.

import { cleanJson, decodePercent, isJsonObject, type JsonObject, type JsonValue } from "../../core/json.ts";
import { DATA, SCHEMAS_BY_NAME } from "../../core/schema-keywords.ts";

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
    if (!SCHEMAS_BY_NAME.has(key) || !isJsonObject(value)) return [[key, sanitize(value, whole)]];
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

// Validates parameters that are also sent as headers (revision 2026-07-28, "Schema Extension" of Streamable HTTP). A
// client must exclude tools with invalid header declarations. The SDK's own filter only logs them to the console.

import { isJsonObject, type JsonValue } from "@colloquy/engine/tool-source";

const HEADER = "x-mcp-header";
/** A token of RFC 9110 section 5.6.2. */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const TYPES: ReadonlySet<JsonValue> = new Set(["string", "integer", "boolean"]);

/** Returns the problem with the header declarations of an input schema; `null` if they are valid. */
export function headerProblem(schema: JsonValue): string | null {
  return problemIn(schema, { isProperty: false, isReachable: true }, new Set());
}

interface Location {
  readonly isProperty: boolean;
  /** True if the path from the root consists only of `properties`. */
  readonly isReachable: boolean;
}

/** Recursive; the depth of listed tools is bounded. */
function problemIn(schema: JsonValue, location: Location, names: Set<string>): string | null {
  if (!isJsonObject(schema)) return null;
  if (HEADER in schema) {
    const { [HEADER]: name, type } = schema;
    if (!location.isProperty || !location.isReachable)
      return "declares a header at something else than a property";
    if (typeof name !== "string" || !TOKEN.test(name)) return "declares a header with a wrong name";
    if (!TYPES.has(type ?? null))
      return `declares the header ${name} for a parameter that is no text, integer or boolean`;
    if (names.has(name.toLowerCase())) return `declares the header ${name} twice`;
    names.add(name.toLowerCase());
  }
  for (const [key, value] of Object.entries(schema)) {
    const isReachable = location.isReachable && key === "properties";
    const isByName = key === "properties" || BY_NAME.has(key);
    if (!isByName && !INNER.has(key)) continue;
    const inner = isByName && isJsonObject(value) ? Object.values(value) : [value].flat();
    for (const one of inner) {
      const problem = problemIn(one, { isProperty: key === "properties", isReachable }, names);
      if (problem !== null) return problem;
    }
  }
  return null;
}

const BY_NAME = new Set("patternProperties dependentSchemas $defs definitions".split(" "));
const INNER = new Set(
  "items prefixItems contains additionalProperties additionalItems unevaluatedProperties unevaluatedItems propertyNames oneOf anyOf allOf not if then else".split(
    " ",
  ),
);

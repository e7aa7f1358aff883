// Reduces a server's JSON Schema to the part that is checked here. The server checks its input itself; the
// check here only saves calls that cannot succeed, and must not block this process: no patterns (regular
// expressions can run forever), no references, and few nested alternatives (their combinations can explode).
// The model gets the whole schema.

import { isJsonObject, type JsonObject, type JsonValue } from "../../core/json.ts";

const COPIED: ReadonlySet<string> = new Set([
  "type",
  "enum",
  "const",
  "required",
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
]);
const ALTERNATIVES: ReadonlySet<string> = new Set(["anyOf", "oneOf"]);
const MAX_BRANCHES = 16;
const MAX_NESTED_ALTERNATIVES = 2;
const MAX_DEPTH = 32;

/** Returns a schema that is cheap to check and accepts everything that `schema` accepts. */
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
    else if (key === "additionalProperties" && canCheckAdditional(schema)) {
      result[key] = typeof value === "boolean" ? value : inner(value);
    } else if (ALTERNATIVES.has(key) && Array.isArray(value) && value.length <= MAX_BRANCHES) {
      if (alternatives === MAX_NESTED_ALTERNATIVES) continue;
      // `oneOf` becomes `anyOf`: several simplified branches may match where one did.
      result["anyOf"] = value.map((branch) => checkableSchema(branch, depth + 1, alternatives + 1));
    }
  }
  return result;
}

/** Which properties are additional depends on `patternProperties`, which is not checked. */
function canCheckAdditional(schema: JsonObject): boolean {
  return !("patternProperties" in schema);
}

// What of a server's JSON Schema is checked here. The server checks its input itself; checking it here spares it calls that cannot work,
// and must not become a way to hold up this process: no patterns (a regular expression may take for ever), no references and few
// alternatives within alternatives (their combinations may be without end). The model is told the whole schema.

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

/** A schema that takes everything which `schema` takes, and is cheap to check. */
export function checkableSchema(schema: JsonValue, depth = 0, alternatives = 0): JsonObject {
  if (!isJsonObject(schema) || depth > MAX_DEPTH) return {};
  // What refers to something else may say less or more than it seems to.
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
    else if (key === "additionalProperties" && canJudgeTheRest(schema)) {
      result[key] = typeof value === "boolean" ? value : inner(value);
    } else if (ALTERNATIVES.has(key) && Array.isArray(value) && value.length <= MAX_BRANCHES) {
      if (alternatives === MAX_NESTED_ALTERNATIVES) continue;
      // `oneOf` becomes `anyOf`: simpler branches could fit where only one did.
      result["anyOf"] = value.map((branch) => checkableSchema(branch, depth + 1, alternatives + 1));
    }
  }
  return result;
}

/** Which properties are additional depends on those that a pattern names. */
function canJudgeTheRest(schema: JsonObject): boolean {
  return !("patternProperties" in schema);
}

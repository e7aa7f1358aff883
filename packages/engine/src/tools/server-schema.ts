// Schemas of MCP servers and OpenAPI services. A server checks its inputs itself; the check here only saves calls that
// cannot succeed, and runs in the schema thread. A schema or an input beyond its bounds is left to the server.

import { isJsonObject, type JsonObject, type JsonValue } from "../core/json.ts";
import type { SchemaCheck } from "../core/ports/driven/schema-check.ts";
import { type InputCheck, describeMisfit } from "./input-check.ts";

/** Creates the input check of a server's tool. */
export function createServerCheck(name: string, schema: JsonValue, schemas: SchemaCheck): InputCheck {
  const checkable = checkableSchema(schema);
  return async (input) => {
    const mismatch = await mismatchWith(checkable, input as JsonValue, schemas);
    return mismatch === null ? null : describeMisfit(name, [mismatch]);
  };
}

/** Returns how a value differs from a checkable schema; `null` if it does not, or if that is unknown. */
export async function mismatchWith(
  checkable: JsonObject,
  value: JsonValue,
  schemas: SchemaCheck,
): Promise<string | null> {
  const problem = await schemas.mismatch(checkable, value);
  return problem?.kind === "wrong" ? problem.text : null;
}

const isNumber = (value: JsonValue): boolean => typeof value === "number" && Number.isFinite(value);
const isCount = (value: JsonValue): boolean => Number.isInteger(value) && Number(value) >= 0;

/** The copied keywords, if their values have the right form. */
const COPIED: Readonly<Record<string, (value: JsonValue) => boolean>> = {
  const: () => true,
  enum: (value) => Array.isArray(value) && value.length > 0,
  minimum: isNumber,
  maximum: isNumber,
  exclusiveMinimum: isNumber,
  exclusiveMaximum: isNumber,
  minLength: isCount,
  maxLength: isCount,
  minItems: isCount,
  maxItems: isCount,
};
const TYPES: ReadonlySet<JsonValue> = new Set("null boolean object array number integer string".split(" "));
const ALTERNATIVES: ReadonlySet<string> = new Set(["anyOf", "oneOf"]);
/** Deeper parts are not checked. A property takes two of the levels that `SchemaCheck` accepts. */
const MAX_DEPTH = 30;

/**
 * Returns the part of a server's schema that is checked here, which accepts everything that `schema` accepts: no
 * patterns, whose dialects differ, no references and no unknown types. Linear, and recursive up to its maximum depth.
 */
export function checkableSchema(schema: JsonValue, depth = 0): JsonObject {
  if (!isJsonObject(schema) || depth > MAX_DEPTH) return {};
  // A reference may change the meaning of its sibling keywords.
  if ("$ref" in schema || "$dynamicRef" in schema) return {};
  const inner = (value: JsonValue): JsonObject => checkableSchema(value, depth + 1);
  const result: JsonObject = {};
  for (const [key, value] of Object.entries(schema)) {
    if (Object.hasOwn(COPIED, key)) {
      if (COPIED[key]?.(value) === true) result[key] = value;
    } else if (key === "type") {
      const types = typesOf(value);
      // Draft 4's and OpenAPI's way to add `null` to a type.
      if (types !== null) result[key] = schema["nullable"] === true ? [...types, "null"] : types;
    } else if (key === "required" && Array.isArray(value)) {
      result[key] = [...new Set(value)].filter((name) => typeof name === "string");
    } else if (key === "properties" && isJsonObject(value)) {
      result[key] = Object.fromEntries(
        Object.entries(value).map(([name, property]) => [name, inner(property)]),
      );
    } else if (key === "items" && isJsonObject(value)) result[key] = inner(value);
    // Which properties are additional depends on `patternProperties`, which is not checked.
    else if (key === "additionalProperties" && !("patternProperties" in schema)) {
      result[key] = typeof value === "boolean" ? value : inner(value);
    } else if (ALTERNATIVES.has(key) && Array.isArray(value) && value.length > 0) {
      // `oneOf` becomes `anyOf`: several simplified branches may match where one did.
      result["anyOf"] = value.map(inner);
    }
  }
  return result;
}

/** Returns the types; `null` if one is unknown, because it may mean anything. */
function typesOf(type: JsonValue): JsonValue[] | null {
  const types = [...new Set([type].flat())];
  return types.length > 0 && types.every((one) => TYPES.has(one)) ? types : null;
}

// Checks JSON Schemas that clients send: response schemas, and input schemas of offered tools. Limits their
// size and depth, and rejects regular expressions, which can take unbounded time, and references to other
// documents. Response schemas may not use `$async` either: ajv would return a promise instead of a result.

import { isDeeperThan, isJsonObject, type JsonObject, type JsonValue } from "./json.ts";

const MAX_BYTES = 16 * 1024;

interface SchemaRules {
  /** Maximum nesting of arrays and objects in a schema. A property takes two levels. */
  readonly maxDepth: number;
  readonly forbidden: ReadonlySet<string>;
}

const FORBIDDEN = ["pattern", "patternProperties", "format", "$dynamicRef"];
const RESPONSE_RULES: SchemaRules = {
  maxDepth: 32,
  forbidden: new Set([...FORBIDDEN, "$id", "$anchor", "$dynamicAnchor", "$async"]),
};
export const TOOL_INPUT_RULES: SchemaRules = {
  maxDepth: 16,
  forbidden: new Set([...FORBIDDEN, "$ref", "$recursiveRef"]),
};

const DIALECTS: readonly JsonValue[] = [
  "https://json-schema.org/draft/2020-12/schema",
  "http://json-schema.org/draft-07/schema#",
  "http://json-schema.org/draft-07/schema",
];

/**
 * Keywords whose values map names to schemas, and those whose values are data. The values of all other
 * keywords are checked as schemas.
 */
const MAPS: ReadonlySet<string> = new Set([
  "properties",
  "$defs",
  "definitions",
  "dependentSchemas",
  "dependencies",
]);
const DATA: ReadonlySet<string> = new Set(["enum", "const", "default", "examples"]);
/** Matches references whose targets are checked as schemas. */
const LOCAL_REFERENCE = /^#(?:\/(?:\$defs|definitions)\/[^/]+)?$/;

/** As `clientSchemaProblem`, with the rules for response schemas. */
export function responseSchemaProblem(schema: JsonObject): string | null {
  const { $schema: dialect } = schema;
  if (dialect !== undefined && !DIALECTS.includes(dialect))
    return "must be in JSON Schema draft 2020-12 or draft-07, as its `$schema` says";
  return clientSchemaProblem(schema, RESPONSE_RULES);
}

/** Returns the rule that the schema breaks, or `null`. Does not check that it is valid JSON Schema. */
export function clientSchemaProblem(schema: JsonObject, { maxDepth, forbidden }: SchemaRules): string | null {
  if (isDeeperThan(maxDepth, schema)) return `must have at most ${maxDepth} levels`;
  const bytes = Buffer.byteLength(JSON.stringify(schema));
  if (bytes > MAX_BYTES) return `must be at most ${MAX_BYTES} bytes of JSON, and has ${bytes}`;
  if (schema["type"] !== "object") return 'must be the schema of an object ("type": "object")';
  return problemAt("", schema, forbidden);
}

function problemAt(place: string, value: JsonValue, forbidden: ReadonlySet<string>): string | null {
  if (Array.isArray(value))
    return firstOf(
      value.map((one, index) => [`${place}/${index}`, one]),
      forbidden,
    );
  if (!isJsonObject(value)) return null;
  for (const [keyword, inner] of Object.entries(value)) {
    const at = `${place}/${keyword}`;
    if (forbidden.has(keyword)) return `must not use \`${keyword}\`, as it does at "${at}"`;
    if (keyword === "$ref" && !(typeof inner === "string" && LOCAL_REFERENCE.test(inner)))
      return `must refer to "#" or "#/$defs/NAME" only, not as it does at "${at}"`;
    if (DATA.has(keyword)) continue;
    const isMap = MAPS.has(keyword) && isJsonObject(inner);
    const found = isMap
      ? firstOf(
          Object.entries(inner).map(([name, one]) => [`${at}/${name}`, one]),
          forbidden,
        )
      : problemAt(at, inner, forbidden);
    if (found !== null) return found;
  }
  return null;
}

function firstOf(
  places: readonly (readonly [place: string, value: JsonValue])[],
  forbidden: ReadonlySet<string>,
): string | null {
  for (const [place, value] of places) {
    const found = problemAt(place, value, forbidden);
    if (found !== null) return found;
  }
  return null;
}

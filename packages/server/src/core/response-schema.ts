// The subset of JSON Schema that a response schema may use: no regular expressions, whose time has no bound, no references out of the
// schema, and no `$async`, with which ajv checks nothing before it returns.

import { isDeeperThan, isJsonObject, type JsonObject, type JsonValue } from "./json.ts";

const MAX_BYTES = 16 * 1024;
/** Maximum levels of arrays and objects. A property takes two. */
const MAX_DEPTH = 32;

const DIALECTS: readonly JsonValue[] = [
  "https://json-schema.org/draft/2020-12/schema",
  "http://json-schema.org/draft-07/schema#",
  "http://json-schema.org/draft-07/schema",
];

const FORBIDDEN: ReadonlySet<string> = new Set([
  "pattern",
  "patternProperties",
  "format",
  "$id",
  "$anchor",
  "$dynamicRef",
  "$dynamicAnchor",
  "$async",
]);
/** Keywords whose value maps names to schemas, and those whose value is data. All others are walked as schemas, known or not. */
const MAPS: ReadonlySet<string> = new Set([
  "properties",
  "$defs",
  "definitions",
  "dependentSchemas",
  "dependencies",
]);
const DATA: ReadonlySet<string> = new Set(["enum", "const", "default", "examples"]);
/** References whose target was walked as a schema. */
const LOCAL_REFERENCE = /^#(?:\/(?:\$defs|definitions)\/[^/]+)?$/;

/** Returns the rule that the schema breaks; `null` if it can be used as a response schema. */
export function responseSchemaProblem(schema: JsonObject): string | null {
  if (isDeeperThan(MAX_DEPTH, schema)) return `must have at most ${MAX_DEPTH} levels`;
  const bytes = Buffer.byteLength(JSON.stringify(schema));
  if (bytes > MAX_BYTES) return `must be at most ${MAX_BYTES} bytes of JSON, and has ${bytes}`;
  if (schema["type"] !== "object") return 'must be the schema of an object ("type": "object")';
  const { $schema: dialect } = schema;
  if (dialect !== undefined && !DIALECTS.includes(dialect))
    return "must be in JSON Schema draft 2020-12 or draft-07, as its `$schema` says";
  return problemAt("", schema);
}

function problemAt(place: string, value: JsonValue): string | null {
  if (Array.isArray(value)) return firstOf(value.map((one, index) => [`${place}/${index}`, one]));
  if (!isJsonObject(value)) return null;
  for (const [keyword, inner] of Object.entries(value)) {
    const at = `${place}/${keyword}`;
    if (FORBIDDEN.has(keyword)) return `must not use \`${keyword}\`, as it does at "${at}"`;
    if (keyword === "$ref" && !(typeof inner === "string" && LOCAL_REFERENCE.test(inner)))
      return `must refer to "#" or "#/$defs/NAME" only, not as it does at "${at}"`;
    if (DATA.has(keyword)) continue;
    const isMap = MAPS.has(keyword) && isJsonObject(inner);
    const found = isMap
      ? firstOf(Object.entries(inner).map(([name, one]) => [`${at}/${name}`, one]))
      : problemAt(at, inner);
    if (found !== null) return found;
  }
  return null;
}

function firstOf(places: readonly (readonly [place: string, value: JsonValue])[]): string | null {
  for (const [place, value] of places) {
    const found = problemAt(place, value);
    if (found !== null) return found;
  }
  return null;
}

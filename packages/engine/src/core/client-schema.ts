// Checks JSON Schemas that clients send: response schemas, and input schemas of offered tools. Limits their
// size and depth, and rejects regular expressions, which can take unbounded time, and references to other
// documents. Response schemas may not use `$async` either: ajv would return a promise instead of a result.

import { isDeeperThan, type JsonObject, type JsonValue } from "./json.ts";
import { countValues, MAX_SCHEMA_VALUES } from "./schema-size.ts";
import type { ClientTool } from "./turn-options.ts";
import { DATA, SCHEMAS_BY_NAME } from "./schema-keywords.ts";

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

const DRAFT_7 = "http://json-schema.org/draft-07/schema#";
const DIALECTS: readonly JsonValue[] = [
  "https://json-schema.org/draft/2020-12/schema",
  DRAFT_7,
  "http://json-schema.org/draft-07/schema",
];

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
  if (countValues(schema, MAX_SCHEMA_VALUES, maxDepth) === Infinity) {
    return isDeeperThan(maxDepth, schema)
      ? `must have at most ${maxDepth} levels`
      : `must have at most ${MAX_SCHEMA_VALUES} values`;
  }
  const bytes = Buffer.byteLength(JSON.stringify(schema));
  if (bytes > MAX_BYTES) return `must be at most ${MAX_BYTES} bytes of JSON, and has ${bytes}`;
  if (schema["type"] !== "object") return 'must be the schema of an object ("type": "object")';
  return problemIn(schema, forbidden);
}

/** Returns the input schema of a tool, in draft 7 unless it names another dialect. */
export function toolSchemaOf({ inputSchema }: Pick<ClientTool, "inputSchema">): JsonObject {
  return { $schema: DRAFT_7, ...(inputSchema as JsonObject) };
}

/** A part of a schema and how it was reached, so that only the place of a problem becomes a text. */
interface Step {
  readonly part: object;
  readonly key: string;
  readonly parent: Step | null;
  /** False for arrays and for maps of names to schemas. */
  readonly hasKeywords: boolean;
}

/** Visits each part once. */
function problemIn(schema: JsonObject, forbidden: ReadonlySet<string>): string | null {
  const left: Step[] = [{ part: schema, key: "", parent: null, hasKeywords: true }];
  for (let step = left.pop(); step !== undefined; step = left.pop()) {
    const { part, hasKeywords } = step;
    for (const [key, value] of Object.entries(part)) {
      if (hasKeywords && forbidden.has(key))
        return `must not use \`${key}\`, as it does at "${placeOf(step)}/${key}"`;
      if (hasKeywords && key === "$ref" && !(typeof value === "string" && LOCAL_REFERENCE.test(value)))
        return `must refer to "#" or "#/$defs/NAME" only, not as it does at "${placeOf(step)}/${key}"`;
      if (typeof value !== "object" || value === null || (hasKeywords && DATA.has(key))) continue;
      const isMap = hasKeywords && SCHEMAS_BY_NAME.has(key);
      left.push({ part: value, key, parent: step, hasKeywords: !Array.isArray(value) && !isMap });
    }
  }
  return null;
}

function placeOf({ key, parent }: Step): string {
  return parent === null ? "" : `${placeOf(parent)}/${key}`;
}

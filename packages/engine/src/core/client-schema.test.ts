import { describe, expect, it } from "vitest";
import type { JsonObject } from "./json.ts";
import { clientSchemaProblem, responseSchemaProblem, TOOL_INPUT_RULES } from "./client-schema.ts";

function object(property: JsonObject, more: JsonObject = {}): JsonObject {
  return { type: "object", properties: { name: property }, ...more };
}

function nested(levels: number): JsonObject {
  let schema: JsonObject = { type: "object" };
  for (let level = 1; level < levels; level += 1) schema = { type: "object", items: schema };
  return schema;
}

describe("schema of an answer", () => {
  it.each<[string, JsonObject]>([
    [
      "an object",
      object({ type: "string", minLength: 1 }, { required: ["name"], additionalProperties: false }),
    ],
    ["definitions", object({ $ref: "#/$defs/name" }, { $defs: { name: { type: "string" } } })],
    ["recursion", object({ type: "array", items: { $ref: "#" } })],
    ["a dialect", { $schema: "http://json-schema.org/draft-07/schema#", type: "object" }],
    [
      "properties called like keywords",
      { type: "object", properties: { pattern: {}, format: {}, $ref: {} } },
    ],
    ["data that looks like keywords", object({ enum: [{ pattern: "^a$" }], default: { format: "email" } })],
    ["32 levels", nested(32)],
  ])("accepts %s", (_, schema) => {
    expect(responseSchemaProblem(schema)).toBeNull();
  });

  it.each<[JsonObject, string]>([
    [object({ pattern: "^(a+)+$" }), 'must not use `pattern`, as it does at "/properties/name/pattern"'],
    [object({ items: [{ format: "email" }] }), '"/properties/name/items/0/format"'],
    [object({}, { patternProperties: { a: {} } }), "`patternProperties`"],
    [object({}, { $defs: { a: { anyOf: [{ not: { pattern: "a" } }] } } }), '"/$defs/a/anyOf/0/not/pattern"'],
    [object({}, { dependencies: { a: { pattern: "a" } } }), '"/dependencies/a/pattern"'],
    [object({}, { unknown: { pattern: "a" } }), '"/unknown/pattern"'],
    [{ $async: true, type: "object", required: ["name"] }, 'must not use `$async`, as it does at "/$async"'],
    [object({ $ref: "https://example.com/schema" }), 'not as it does at "/properties/name/$ref"'],
    [
      object({ $ref: "#/default" }, { default: { pattern: "a" } }),
      'not as it does at "/properties/name/$ref"',
    ],
    [object({ $id: "https://json-schema.org/draft/2020-12/schema" }), "`$id`"],
    [{ type: "array" }, 'must be the schema of an object ("type": "object")'],
    [{}, 'must be the schema of an object ("type": "object")'],
    [{ type: "object", $schema: "https://example.com/mine" }, "draft 2020-12 or draft-07"],
    [{ type: "object", description: "ü".repeat(8192) }, "at most 16384 bytes"],
    [nested(33), "at most 32 levels"],
  ])("rejects %j", (schema, problem) => {
    expect(responseSchemaProblem(schema)).toContain(problem);
  });
});

describe("schema of a tool's input", () => {
  it.each<[JsonObject, string | null]>([
    [object({ $ref: "#" }), "must not use `$ref`"],
    [object({ format: "email" }), "must not use `format`"],
    [object({}, { patternProperties: { a: {} } }), "must not use `patternProperties`"],
    [object({ $dynamicRef: "#a" }), "must not use `$dynamicRef`"],
    [object({ $recursiveRef: "#" }), "must not use `$recursiveRef`"],
    [nested(17), "at most 16 levels"],
    [nested(16), null],
  ])("of %j has the problem %s", (schema, problem) => {
    const found = clientSchemaProblem(schema, TOOL_INPUT_RULES);
    if (problem === null) expect(found).toBeNull();
    else expect(found).toContain(problem);
  });
});

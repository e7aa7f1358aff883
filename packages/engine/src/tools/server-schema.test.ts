import { describe, expect, it } from "vitest";
import { schemaChecks } from "../../../server/test/schema-checks.ts";
import type { JsonValue } from "../core/json.ts";
import { checkableSchema } from "./server-schema.ts";

const schemas = schemaChecks.of("default");

async function fits(schema: JsonValue, value: JsonValue): Promise<boolean> {
  const checkable = checkableSchema(schema);
  expect(await schemas.problem(checkable)).toBeNull();
  return (await schemas.mismatch(checkable, value)) === null;
}

describe("checkableSchema", () => {
  it.each([
    [
      "types, also of properties",
      { type: "object", properties: { a: { type: "number" } } },
      { a: 1 },
      { a: "1" },
    ],
    ["required properties", { type: "object", properties: { a: {} }, required: ["a"] }, { a: 1 }, {}],
    ["arrays", { type: "array", items: { type: "string" }, maxItems: 1 }, ["a"], [1]],
    ["enums", { enum: ["a", "b"] }, "a", "c"],
    ["lengths and sizes", { type: "string", maxLength: 2 }, "ab", "abc"],
    ["alternatives", { anyOf: [{ type: "string" }, { type: "null" }] }, null, 5],
    [
      "disallowed properties",
      { type: "object", properties: { a: {} }, additionalProperties: false },
      { a: 1 },
      { b: 1 },
    ],
  ])("keeps %s", async (_what, schema, good, bad) => {
    expect([await fits(schema, good), await fits(schema, bad)]).toEqual([true, false]);
  });

  it.each([
    ["patterns", { type: "string", pattern: "^b" }, "a"],
    [
      "references and their sibling keywords",
      { $ref: "#/$defs/a", type: "number", $defs: { a: {} } },
      "text",
    ],
    [
      "additionalProperties beside patternProperties",
      { type: "object", patternProperties: { "^x": {} }, additionalProperties: false },
      { x1: 1 },
    ],
    [
      "oneOf, whose simplified branches may overlap",
      {
        oneOf: [
          { type: "string", pattern: "^a" },
          { type: "string", pattern: "^b" },
        ],
      },
      "a",
    ],
    ["negations", { not: { type: "string" } }, "a"],
    ["deep nesting", nest(40, { type: "number" }), nestValue(40, "text")],
  ])("omits %s, and never rejects what the schema accepts", async (_what, schema, value) => {
    expect(await fits(schema, value)).toBe(true);
  });

  it("returns an empty schema for anything that is not an object", () => {
    for (const schema of [null, true, 5, "x", []]) expect(checkableSchema(schema)).toEqual({});
  });
});

function nest(depth: number, inner: JsonValue): JsonValue {
  return depth === 0 ? inner : { type: "object", properties: { a: nest(depth - 1, inner) } };
}

function nestValue(depth: number, inner: JsonValue): JsonValue {
  return depth === 0 ? inner : { a: nestValue(depth - 1, inner) };
}

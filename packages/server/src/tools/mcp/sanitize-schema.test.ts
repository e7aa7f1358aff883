import { describe, expect, it } from "vitest";
import type { JsonValue } from "../../core/json.ts";
import { createSchemaCheck } from "../input-check.ts";
import { sanitizeSchema, checkableSchema } from "./sanitize-schema.ts";

describe("sanitizeSchema", () => {
  it("returns a valid schema unchanged", () => {
    const schema = {
      type: "object",
      $defs: { "a/b": { $anchor: "here", type: "string", pattern: "^[a-z]+\\_$" } },
      properties: {
        pattern: { type: "string", default: { pattern: "(", $ref: "#/no" } },
        $ref: { $ref: "#/$defs/a~1b" },
        tree: { $ref: "#" },
        anchored: { $ref: "#here" },
        any: true,
        first: { $ref: "#/properties/any" },
      },
      patternProperties: { "^x-": {} },
      required: ["pattern"],
      anyOf: [{ required: ["tree"] }],
    };
    expect(sanitizeSchema(schema)).toEqual(schema);
  });

  it("removes invalid patterns and dangling references", () => {
    const schema = {
      properties: {
        a: { type: "string", pattern: "(" },
        b: { items: [{ $ref: "#/$defs/none", description: "b" }] },
        c: { $ref: "https://elsewhere.test/schema.json" },
        d: { $dynamicRef: "#nobody" },
        e: { $ref: "#/required/0" },
      },
      patternProperties: { "[": {}, x: { pattern: "*" } },
      required: ["a"],
    };
    expect(sanitizeSchema(schema)).toEqual({
      properties: { a: { type: "string" }, b: { items: [{ description: "b" }] }, c: {}, d: {}, e: {} },
      patternProperties: { x: {} },
      required: ["a"],
    });
  });

  it("cleans all text", () => {
    const schema = { description: "a\0b\ud800", properties: { "k\0": { enum: ["\udc00"] } } };
    expect(sanitizeSchema(schema)).toEqual({
      description: "ab\ufffd",
      properties: { k: { enum: ["\ufffd"] } },
    });
  });
});

function fits(schema: JsonValue, value: JsonValue): boolean {
  return createSchemaCheck(checkableSchema(schema), "draft-2020-12")(value) === null;
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
  ])("keeps %s", (_what, schema, good, bad) => {
    expect([fits(schema, good), fits(schema, bad)]).toEqual([true, false]);
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
  ])("omits %s, and never rejects what the schema accepts", (_what, schema, value) => {
    expect(fits(schema, value)).toBe(true);
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

import { describe, expect, it } from "vitest";
import { sanitizeSchema } from "./sanitize-schema.ts";

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

import { describe, expect, it } from "vitest";
import { toldSchema } from "./told-schema.ts";

describe("the schema that a model is told", () => {
  it("is the server's own where nothing is wrong with it", () => {
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
    expect(toldSchema(schema)).toEqual(schema);
  });

  it("has no pattern that is none, and no reference that leads nowhere", () => {
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
    expect(toldSchema(schema)).toEqual({
      properties: { a: { type: "string" }, b: { items: [{ description: "b" }] }, c: {}, d: {}, e: {} },
      patternProperties: { x: {} },
      required: ["a"],
    });
  });

  it("has clean text everywhere", () => {
    const schema = { description: "a\0b\ud800", properties: { "k\0": { enum: ["\udc00"] } } };
    expect(toldSchema(schema)).toEqual({ description: "ab\ufffd", properties: { k: { enum: ["\ufffd"] } } });
  });
});

import { describe, expect, it } from "vitest";
import type { JsonObject, JsonValue } from "../../core/json.ts";
import { SchemaReader } from "./schema.ts";

const read = (schema: JsonValue, schemas: JsonObject = {}): JsonObject =>
  new SchemaReader({ components: { schemas } }).read(schema);

const text = { type: "string" };

describe("a schema of an OpenAPI document as JSON Schema", () => {
  it("keeps what is about the shape of the input, and nothing else", () => {
    const schema = {
      type: "integer",
      format: "int32",
      minimum: 1,
      description: "How many.",
      example: 3,
      deprecated: true,
      "x-order": 1,
      xml: { name: "a" },
      externalDocs: { url: "https://docs.test" },
    };
    expect(read(schema)).toEqual({ type: "integer", format: "int32", minimum: 1, description: "How many." });
  });

  it("writes references out, with what stands beside them over it", () => {
    const schemas = {
      Pet: {
        type: "object",
        properties: { owner: { $ref: "#/components/schemas/Owner~1Name", description: "Whose." } },
      },
      "Owner/Name": { type: "string", description: "Somebody." },
    };
    expect(read({ $ref: "#/components/schemas/Pet" }, schemas)).toEqual({
      type: "object",
      properties: { owner: { type: "string", description: "Whose." } },
    });
  });

  it.each([
    ["#/components/schemas/None", "leads nowhere"],
    ["#/components/schemas/constructor", "leads nowhere"],
    ["#/%", "is not valid"],
    ["other.yaml#/Pet", "leads out of the document"],
    ["https://elsewhere.test/a.json", "leads out of the document"],
    ["/etc/passwd", "leads out of the document"],
  ])("refuses the reference %s: it %s", (reference, reason) => {
    expect(() => read({ type: "array", items: { $ref: reference } })).toThrow(reason);
  });

  it("refuses references that lead to each other", () => {
    const schemas = { A: { $ref: "#/components/schemas/B" }, B: { $ref: "#/components/schemas/A" } };
    expect(() => read({ $ref: "#/components/schemas/A" }, schemas)).toThrow("in a circle");
  });

  it("allows anything where a schema is a part of itself", () => {
    const tree = {
      type: "object",
      properties: { name: text, children: { type: "array", items: { $ref: "#/components/schemas/Tree" } } },
    };
    const schemas = { Tree: tree };
    expect(read({ $ref: "#/components/schemas/Tree" }, schemas)).toEqual({
      type: "object",
      properties: { name: text, children: { type: "array", items: {} } },
    });
    // Twice, but not within itself, is no circle.
    const pair = {
      type: "object",
      properties: { a: { $ref: "#/components/schemas/T" }, b: { $ref: "#/components/schemas/T" } },
    };
    expect(read(pair, { T: text })).toEqual({ type: "object", properties: { a: text, b: text } });
  });

  it("stays bounded for a document whose parts multiply, and for one that is tied into itself", () => {
    const schemas: JsonObject = { S0: text };
    for (let level = 1; level <= 15; level += 1) {
      const below = { $ref: `#/components/schemas/S${level - 1}` };
      schemas[`S${level}`] = { type: "object", properties: { a: below, b: below, c: below, d: below } };
    }
    expect(JSON.stringify(read({ $ref: "#/components/schemas/S15" }, schemas)).length).toBeLessThan(50_000);
    const knot: JsonObject = { type: "object", default: {} };
    knot["properties"] = { again: knot };
    (knot["default"] as JsonObject)["again"] = knot;
    let depth = 0;
    for (let at: JsonValue | undefined = read(knot); at !== undefined && depth < 100; depth += 1) {
      at = ((at as JsonObject)["properties"] as JsonObject | undefined)?.["again"];
    }
    expect(depth).toBeLessThan(20);
    expect(JSON.stringify(read(knot))).not.toContain("default");
  });

  it.each([
    [{ type: "string", nullable: true }, { type: ["string", "null"] }],
    [
      { type: "string", nullable: true, enum: ["a"] },
      { type: ["string", "null"], enum: ["a", null] },
    ],
    [{ nullable: true, oneOf: [text] }, { anyOf: [{ oneOf: [text] }, { type: "null" }] }],
    [{ type: "string", nullable: false }, text],
    [
      { type: "number", minimum: 1, exclusiveMinimum: true },
      { type: "number", exclusiveMinimum: 1 },
    ],
    [
      { type: "number", maximum: 1, exclusiveMaximum: false },
      { type: "number", maximum: 1 },
    ],
  ])("says %j of version 3.0 as %j", (schema, expected) => {
    expect(read(schema)).toEqual(expected);
  });

  it.each([
    { type: ["string", "null"] },
    { type: "number", exclusiveMinimum: 1 },
    { const: "a" },
    { anyOf: [text, { type: "integer" }] },
    { type: "object", additionalProperties: text },
    { type: "object", additionalProperties: false },
  ])("keeps %j of version 3.1", (schema) => {
    expect(read(schema)).toEqual(schema);
  });

  it("reads the schemas that are no more than true and false", () => {
    expect(read({ type: "object", properties: { a: true, b: false } })).toEqual({
      type: "object",
      properties: { a: {}, b: { not: {} } },
    });
  });

  it("knows objects and lists that do not say that they are", () => {
    expect(read({ properties: { a: { items: text } } })).toEqual({
      type: "object",
      properties: { a: { type: "array", items: text } },
    });
  });

  it("leaves out what only answers have", () => {
    const schema = {
      type: "object",
      required: ["id", "name"],
      properties: {
        id: { type: "string", readOnly: true },
        name: text,
        password: { type: "string", writeOnly: true },
      },
    };
    expect(read(schema)).toEqual({
      type: "object",
      required: ["name"],
      properties: { name: text, password: text },
    });
  });

  it("makes one object of objects that are meant together", () => {
    const schemas = { Base: { type: "object", required: ["id"], properties: { id: text } } };
    const schema = {
      description: "Both.",
      allOf: [
        { $ref: "#/components/schemas/Base" },
        { type: "object", required: ["name"], properties: { name: text } },
      ],
      properties: { own: text },
    };
    expect(read(schema, schemas)).toEqual({
      type: "object",
      description: "Both.",
      required: ["id", "name"],
      properties: { id: text, name: text, own: text },
    });
    expect(read({ description: "It.", nullable: true, allOf: [text] })).toEqual({
      type: ["string", "null"],
      description: "It.",
    });
    const mixed = { allOf: [{ type: "object", properties: { a: text } }, { oneOf: [{ type: "object" }] }] };
    expect(read(mixed)).toEqual(mixed);
  });

  it("does not mind what is no schema", () => {
    for (const odd of [
      null,
      1,
      "text",
      [],
      { properties: [] },
      { items: 1 },
      { required: "a" },
      { allOf: {} },
    ]) {
      expect(() => read(odd)).not.toThrow();
    }
  });
});

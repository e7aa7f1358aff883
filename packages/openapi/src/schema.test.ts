import { describe, expect, it } from "vitest";
import type { JsonObject, JsonValue } from "@colloquy/engine/internal/core/json";
import { SchemaReader } from "./schema.ts";

const read = (schema: JsonValue, schemas: JsonObject = {}): JsonObject =>
  new SchemaReader({ components: { schemas } }).read(schema);

const text = { type: "string" };

describe("SchemaReader", () => {
  it("keeps keywords about the shape of the input only", () => {
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

  it("inlines references, with sibling keywords overriding the target", () => {
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
    ["#/components/schemas/None", "does not resolve"],
    ["#/components/schemas/constructor", "does not resolve"],
    ["#/%", "is not valid"],
    ["other.yaml#/Pet", "is external"],
    ["https://elsewhere.test/a.json", "is external"],
    ["/etc/passwd", "is external"],
  ])("rejects the reference %s: it %s", (reference, reason) => {
    expect(() => read({ type: "array", items: { $ref: reference } })).toThrow(reason);
  });

  it("rejects circular references", () => {
    const schemas = { A: { $ref: "#/components/schemas/B" }, B: { $ref: "#/components/schemas/A" } };
    expect(() => read({ $ref: "#/components/schemas/A" }, schemas)).toThrow("is circular");
  });

  it("allows any value at a schema that contains itself", () => {
    const tree = {
      type: "object",
      properties: { name: text, children: { type: "array", items: { $ref: "#/components/schemas/Tree" } } },
    };
    const schemas = { Tree: tree };
    expect(read({ $ref: "#/components/schemas/Tree" }, schemas)).toEqual({
      type: "object",
      properties: { name: text, children: { type: "array", items: {} } },
    });
    // Two references to the same schema are not a cycle.
    const pair = {
      type: "object",
      properties: { a: { $ref: "#/components/schemas/T" }, b: { $ref: "#/components/schemas/T" } },
    };
    expect(read(pair, { T: text })).toEqual({ type: "object", properties: { a: text, b: text } });
  });

  it("stays bounded for exponentially growing schemas and for cyclic objects", () => {
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

  it.each<[string, (parts: readonly string[]) => JsonObject]>([
    ["keywords", (parts) => Object.fromEntries(parts.map((part) => [part, 1]))],
    ["required names", (parts) => ({ type: "object", required: [...parts] })],
    ["values of an enum", (parts) => ({ enum: [...parts] })],
    ["fields of a default", (parts) => ({ default: Object.fromEntries(parts.map((part) => [part, 1])) })],
    ["properties", (parts) => ({ properties: Object.fromEntries(parts.map((part) => [part, text])) })],
  ])("reads few copies of a schema with many %s, however often it is referred to", (_what, schemaOf) => {
    let reads = 0;
    const wide = schemaOf(Array.from({ length: 5_000 }, (_, index) => `p${index}`));
    const watched = new Proxy(wide, {
      ownKeys: (target) => {
        reads += 1;
        return Reflect.ownKeys(target);
      },
    });
    const reference = { $ref: "#/components/schemas/Wide" };
    const properties = Object.fromEntries(
      Array.from({ length: 900 }, (_, index) => [`r${index}`, reference]),
    );
    const schema = read({ type: "object", properties }, { Wide: watched });
    expect(Object.keys(schema["properties"] as JsonObject)).toHaveLength(900);
    expect(reads).toBeLessThan(50);
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
  ])("converts %j of version 3.0 to %j", (schema, expected) => {
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

  it("converts boolean schemas", () => {
    expect(read({ type: "object", properties: { a: true, b: false } })).toEqual({
      type: "object",
      properties: { a: {}, b: { not: {} } },
    });
  });

  it("infers the types object and array", () => {
    expect(read({ properties: { a: { items: text } } })).toEqual({
      type: "object",
      properties: { a: { type: "array", items: text } },
    });
  });

  it("omits read-only properties", () => {
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

  it("merges the objects of allOf", () => {
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

  it("tolerates invalid schemas", () => {
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

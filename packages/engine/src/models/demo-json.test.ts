import { describe, expect, it } from "vitest";
import { ManualClock } from "../../../server/test/manual-clock.ts";
import type { JsonObject, JsonValue } from "../core/json.ts";
import { createDemoModel } from "./demo-model.ts";
import { demoJson } from "./demo-json.ts";

const list = { type: "object", properties: { value: { type: "integer" }, next: { $ref: "#" } } };

describe("JSON of the demo model", () => {
  it.each<[JsonValue, JsonObject]>([
    ["hello", { type: "string" }],
    ["hel", { type: "string", maxLength: 3 }],
    ["hello...", { type: "string", minLength: 8 }],
    ["b", { enum: ["b", "c"] }],
    [null, { const: null }],
    [2, { type: "number", minimum: 1.5 }],
    [2, { type: "integer", exclusiveMinimum: 1 }],
    [-3, { type: "integer", maximum: -3 }],
    [-4, { type: "integer", exclusiveMaximum: -3 }],
    [true, { type: ["boolean", "null"] }],
    [[], { type: "array", items: { type: "string" } }],
    [["hello", "hello"], { type: "array", items: { type: "string" }, minItems: 2 }],
    ["hello", { anyOf: [{ type: "string" }, { type: "null" }] }],
    [0, { $ref: "#/$defs/n", $defs: { n: { type: "number" } } }],
    [{ value: 0, next: { value: 0, next: {} } }, list],
  ])("is %j", (value, schema) => {
    expect(demoJson(schema, "hello")).toEqual(value);
  });

  it("terminates for recursive and for huge schemas", () => {
    expect(demoJson({ $ref: "#" }, "hello")).toBeNull();
    expect(demoJson({ type: "array", minItems: 1e9 }, "hello")).toHaveLength(1_000);
    expect(demoJson({ type: "object", required: ["a"], properties: { a: { $ref: "#" } } }, "")).toBeTypeOf(
      "object",
    );
  });
});

describe("the size of a demo model's JSON", () => {
  const lists = (levels: number): JsonObject =>
    levels === 0 ? { type: "string" } : { type: "array", minItems: 1_000, items: lists(levels - 1) };
  const wide = Array.from({ length: 200 }, (_, index) => `p${index}`);
  it.each<[string, JsonObject]>([
    ["lists of lists", lists(6)],
    ["long texts", { type: "array", minItems: 1_000, items: lists(1) }],
    [
      "properties that refer to their schema",
      { properties: Object.fromEntries(wide.map((name) => [name, { $ref: "#" }])), required: wide },
    ],
  ])("is bounded for %s", (_what, schema) => {
    expect(JSON.stringify(demoJson(schema, "x".repeat(1_000))).length).toBeLessThan(2_000_000);
  });
});

describe("the demo model", () => {
  const ask = async (text: string, schema?: JsonObject) => {
    const { content } = await createDemoModel(new ManualClock()).doGenerate({
      prompt: [{ role: "user", content: [{ type: "text", text }] }],
      ...(schema !== undefined && { responseFormat: { type: "json", schema } }),
    });
    return content;
  };

  it("answers in a schema", async () => {
    expect(await ask("count to 3", { type: "object", properties: { a: { type: "string" } } })).toEqual([
      { type: "text", text: '{"a":"count to 3"}' },
    ]);
  });

  it("reasons, and names a source, when asked to", async () => {
    expect(await ask("Please think about whales!")).toEqual([
      { type: "reasoning", text: expect.stringContaining("about whales.") },
      { type: "text", text: expect.stringContaining("about whales.") },
    ]);
    expect(await ask("Cite your sources.")).toMatchObject([
      { type: "text" },
      { type: "source", sourceType: "url", url: "https://example.com/" },
    ]);
  });
});

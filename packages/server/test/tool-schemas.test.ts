// Property tests for rewritten tool schemas. Sends random schemas with the real provider packages: each request must
// satisfy the provider's rules, and arguments must map back to the original schema. `COLLOQUY_SCHEMAS` sets the number
// of tools.

import { Ajv2020 } from "ajv/dist/2020.js";
import type { JSONSchema7 } from "@ai-sdk/provider";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  isCleanText,
  isJsonObject,
  type JsonObject,
  type JsonValue,
} from "@colloquy/engine/internal/core/json";
import type { ToolDefinition } from "@colloquy/engine/internal/core/ports/driven/tool";
import { repairSchema, restoreArguments } from "@colloquy/engine/internal/turns/tool-schemas";
import { bodyOf, FAMILIES } from "./providers/sent-tools.ts";
import {
  anthropicToolProblems,
  compatibleToolProblems,
  googleToolProblems,
  openaiToolProblems,
} from "./providers/tool-rules.ts";

const RUNS = Number(process.env["COLLOQUY_SCHEMAS"] ?? 100);

const DIALECTS = ["openai", "anthropic", "google", "strictest"] as const;

function toolOf(inputSchema: unknown, name = "tool", description: unknown = "Does it"): ToolDefinition {
  return { name, description, inputSchema: inputSchema as JSONSchema7, effect: "read" } as ToolDefinition;
}

const oddNames = fc.oneof(
  fc.constantFrom(
    "a",
    "b",
    "id",
    "名前",
    "user name",
    "$filter",
    "a.b",
    "x-id",
    "",
    " ",
    "__proto__",
    "constructor",
  ),
  fc.constantFrom(
    "type",
    "properties",
    "items",
    "required",
    "enum",
    "n".repeat(200),
    "9lives",
    "😀",
    "\u0001\u0007",
  ),
  // No integer-like names: JavaScript orders them first, which would change the order of properties.
  fc.string({ unit: "binary", maxLength: 8 }).filter((name) => !/^\d+$/.test(name)),
);
const oddText = fc.oneof(
  fc.constantFrom("A text.", "", "x".repeat(100_000), "\u0000\ud800", "😀", "line\nline", "\u0007\u001b[31m"),
  fc.constantFrom(null, 5, ["a"], { en: "text" }),
);
const oddTypes = fc.oneof(
  fc.constantFrom("string", "number", "integer", "boolean", "object", "array", "null"),
  fc.constantFrom(
    "String",
    "int",
    "float",
    "any",
    "date",
    "",
    null,
    5,
    [],
    ["string", "null"],
    ["object", "array"],
  ),
  fc.constantFrom(["string", "number", "null"], ["string", "string"], ["null"], [null, "string"], { a: 1 }),
);
const oddValues = fc.oneof(
  fc.constantFrom<JsonValue>("a", "", 1, 1.5, true, null, [], {}, "名前", -0, "x".repeat(2_000)),
  fc.integer(),
);

/** Generates valid and malformed JSON Schemas. */
const oddSchema = fc.letrec<{ schema: JsonValue }>((tie) => {
  const inner = tie("schema");
  const named = fc.array(fc.tuple(oddNames, inner), { maxLength: 4 }).map(Object.fromEntries);
  const keywords = fc.record(
    {
      type: oddTypes,
      description: oddText,
      title: oddText,
      properties: fc.oneof({ weight: 6, arbitrary: named }, fc.constantFrom(null, [], "x")),
      required: fc.oneof(
        fc.array(oddNames, { maxLength: 4 }),
        fc.constantFrom<JsonValue>(null, true, "a", [1, null]),
      ),
      items: fc.oneof({ weight: 4, arbitrary: inner }, fc.array(inner, { maxLength: 3 }), fc.constant(null)),
      prefixItems: fc.array(inner, { maxLength: 3 }),
      additionalProperties: fc.oneof(inner, fc.boolean(), fc.constant(null)),
      anyOf: fc.oneof({ weight: 4, arbitrary: fc.array(inner, { maxLength: 3 }) }, fc.constantFrom(null, {})),
      oneOf: fc.array(inner, { maxLength: 3 }),
      allOf: fc.array(inner, { maxLength: 3 }),
      ...Object.fromEntries(["not", "if", "then", "else"].map((key) => [key, inner])),
      enum: fc.oneof(
        fc.array(oddValues, { maxLength: 5 }),
        fc.constantFrom<JsonValue>(
          null,
          "a",
          Array.from({ length: 3_000 }, (_, index) => `value ${index}`),
        ),
      ),
      const: oddValues,
      default: oddValues,
      examples: fc.oneof(fc.array(oddValues, { maxLength: 2 }), oddValues),
      format: fc.constantFrom("date-time", "uri", "int32", "color", "", 5, null),
      pattern: fc.constantFrom("^[a-z]+$", "(", "(?P<x>a)", "\\p{L}+", "^(?=a)", "\\S", 5, null),
      minimum: fc.constantFrom<JsonValue>(0, "0", null, 1e300),
      exclusiveMinimum: fc.constantFrom<JsonValue>(true, false, 0, null),
      minLength: fc.constantFrom<JsonValue>(1, -1, 1.5, 100_000),
      maxLength: fc.constantFrom<JsonValue>(65_536, "5"),
      minItems: fc.constantFrom<JsonValue>(1, -1),
      uniqueItems: fc.constantFrom<JsonValue>(true, "yes"),
      nullable: fc.constantFrom<JsonValue>(true, false, "true"),
      $ref: fc.constantFrom(
        "#",
        "#/$defs/a",
        "#/definitions/b",
        "#/properties/a",
        "#gone",
        "https://x.test/a",
        5,
      ),
      $schema: fc.constantFrom("http://json-schema.org/draft-04/schema#", "odd"),
      $id: fc.constantFrom("https://x.test/a", ""),
      $defs: fc.record({ a: inner, b: inner }),
      definitions: fc.record({ a: inner, b: inner }),
      patternProperties: named,
      dependentSchemas: named,
      dependentRequired: fc.constant({ a: ["b"] }),
      propertyNames: inner,
    },
    { requiredKeys: [] },
  );
  return {
    schema: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      fc.constantFrom<JsonValue>(true, false, null, "string", {}, { type: "string" }),
      // Most schemas have a few keywords, because objects with all of them do not resemble real schemas.
      keywords.chain((all) => fc.subarray(Object.keys(all), { maxLength: 5 }).map((keys) => pick(all, keys))),
    ),
  };
}).schema;

function pick(all: object, keys: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(all).filter(([key]) => keys.includes(key)));
}

/** Generates a draft 2020-12 schema with a matching value. */
type Pair = readonly [schema: JsonObject, value: JsonValue];

const pair = fc.letrec<{ any: Pair; object: Pair }>((tie) => {
  const plain = fc.oneof(
    fc.string({ maxLength: 5 }).map((text): Pair => [{ type: "string" }, text]),
    fc.integer().map((value): Pair => [{ type: "integer" }, value]),
    fc.boolean().map((value): Pair => [{ type: "boolean" }, value]),
    fc.constantFrom<Pair>(
      [{ type: ["string", "null"] }, null],
      [{ enum: [1, 2, 3] }, 2],
      [{ const: true }, true],
      [{ enum: ["a", 1, null] }, 1],
      [{ type: "object" }, { free: [1, { deep: "x" }] }],
      [{}, { any: 1 }],
      [{ type: "object", additionalProperties: { type: "integer" } }, { one: 1 }],
      [{ anyOf: [{ type: "string" }, { type: "array", items: { type: "integer" } }] }, [1, 2]],
    ),
  );
  const list = fc.array(tie("any"), { minLength: 1, maxLength: 3 }).map((pairs): Pair => {
    const [[first, value]] = pairs as [Pair, ...Pair[]];
    return [{ type: "array", items: first }, [value]];
  });
  const object = fc
    .uniqueArray(fc.tuple(oddNames.filter(isCleanText), tie("any"), fc.boolean(), fc.boolean()), {
      selector: ([name]) => name,
      minLength: 1,
      maxLength: 4,
    })
    .map((fields): Pair => {
      const properties = Object.fromEntries(fields.map(([name, [schema]]) => [name, schema]));
      // With a single type, `null` is expressed by omitting a required property.
      const isNeeded = ([, [, inner], isRequired]: (typeof fields)[number]): boolean =>
        isRequired || inner === null;
      const required = fields.filter(isNeeded).map(([name]) => name);
      const present = fields.filter((field) => isNeeded(field) || field[3]);
      const value = Object.fromEntries(present.map(([name, [, inner]]) => [name, inner]));
      return [{ type: "object", properties, required }, value];
    });
  return { any: fc.oneof({ maxDepth: 3 }, plain, list, object), object };
}).object;

/** Converts a value to the rewritten schema, as a model would write it. Both schemas order properties alike. */
function toRewrittenForm(
  value: JsonValue,
  original: JsonObject,
  repaired: JsonObject,
  dialect: string,
): JsonValue {
  const { type, enum: values, anyOf, properties, items } = repaired;
  if (Array.isArray(anyOf)) {
    const index = anyOf.findIndex((branch) => isJsonObject(branch) && accepts(branch, value));
    const branches = original["anyOf"];
    const inner = Array.isArray(branches) ? branches[index] : original;
    return index < 0
      ? value
      : toRewrittenForm(value, inner as JsonObject, anyOf[index] as JsonObject, dialect);
  }
  if (value !== null && type === "string" && typeof value !== "string")
    return Array.isArray(values) || typeof value === "object" ? JSON.stringify(value) : value;
  if (Array.isArray(value) && isJsonObject(items))
    return value.map((item) =>
      toRewrittenForm(item, (original["items"] ?? {}) as JsonObject, items, dialect),
    );
  if (!isJsonObject(value) || !isJsonObject(properties) || !isJsonObject(original["properties"]))
    return value;
  const names = Object.keys(original["properties"]);
  const sent = Object.keys(properties);
  const entries = Object.entries(value).flatMap(([name, inner]): Array<[string, JsonValue]> => {
    const index = names.indexOf(name);
    const key = sent[index] ?? name;
    // A single type cannot express `null`.
    if (inner === null && dialect === "strictest") return [];
    const [from, to] = [(original["properties"] as JsonObject)[name], properties[key]];
    return [[key, toRewrittenForm(inner, from as JsonObject, to as JsonObject, dialect)]];
  });
  return Object.fromEntries(entries);
}

function accepts(schema: JsonObject, value: JsonValue): boolean {
  const types = [schema["type"]].flat();
  if (value === null) return types.includes("null");
  if (Array.isArray(value)) return types.includes("array");
  return types.some((type) => typeof value === type || (type === "integer" && Number.isInteger(value)));
}

/** Schemas from public reports, each rejected by at least one provider. */
const REPORTED: ReadonlyArray<readonly [report: string, schema: unknown]> = [
  ["browser-use/browser-use#4211", { type: "object", properties: { a: { type: "array" } } }],
  ["garrytan/gbrain#1048", { oneOf: [{ type: "object", properties: { a: { type: "string" } } }] }],
  ["Automattic/wordpress-mcp#103", object({ value: { type: ["string", "object", "array", "null"] } })],
  [
    "can1357/oh-my-pi#2652: enum on null",
    object({ a: { anyOf: [{ type: "null", enum: ["A", "B"] }, { type: "string" }] } }),
  ],
  [
    "can1357/oh-my-pi#2652: enum on an array",
    object({ a: { type: "array", enum: [0, 1], items: { type: "integer" } } }),
  ],
  [
    "TencentCloudBase/CloudBase-AI-Toolkit#626",
    object({ a: { anyOf: [{ not: {} }, { type: "string" }] } }, { $schema: "x" }),
  ],
  ["smallmain/vscode-unify-chat-provider#162", object({ a: { type: "string" }, type: "object" })],
  ["IvanMurzak/Unity-MCP#440", null],
  ["janhq/jan#7017", { type: "object" }],
  ["afrise/MCPSharp#9: draft 4", object({ a: { type: "number", minimum: 1, exclusiveMinimum: true } })],
  ["ggml-org/llama.cpp#26596", object({ script: { type: "string", minLength: 1, maxLength: 65_536 } })],
  ["ggml-org/llama.cpp#25746", object({ job: object({ key: { type: "string", pattern: "\\S" } }) })],
  ["google/mcp-security#148", object({ a: { description: "any value" } })],
  ["decolua/9router#380", object({ a: { enum: ["x", "y"] } })],
  ["elastic/kibana#286302", object({ a: { type: "string", enum: [] } })],
  ["Bobsilvio/ha-claude#32", object({ a: { type: "string", enum: ["user", ""] } })],
  ["microsoft/azure-devops-mcp#145", object({ a: { type: "integer", enum: [1, 2, 4] } })],
  ["zereight/gitlab-mcp#166", object({ a: { anyOf: [{ type: ["string", "number"] }, { type: "" }] } })],
  [
    "anomalyco/opencode#11889",
    object({ data: { type: "string", properties: { a: { type: "string" } }, required: ["a"] } }),
  ],
  ["t8y2/dbx#6233", object({ tables: { type: ["array", "null"], items: { type: "string" } } })],
  [
    "tanaikech/ToolsForMCPServer#13",
    object({
      criteria: {
        type: "array",
        items: object({
          levels: {
            type: "array",
            items: { title: "Level", description: "A level of performance", type: "object" },
          },
        }),
      },
    }),
  ],
  [
    "JetBrains/mcp-jetbrains#71",
    object({ truncateMode: { enum: ["START", "MIDDLE", "END", "NONE"] }, path: {} }),
  ],
  ["use-novamira/novamira#82: PHP's empty arrays", { type: "object", properties: [], required: {} }],
  ["twilio-labs/mcp#56", object({ ["Parameter".repeat(9)]: { type: "string" }, "a/b": { type: "string" } })],
];

function object(properties: object, more: object = {}): object {
  return { type: "object", properties, ...more };
}

describe.each(REPORTED)("the schema of %s", (_report, schema) => {
  it("is rejected unchanged, and accepted by all providers once rewritten", async () => {
    const raw = { name: "tool", description: "Does it" };
    const tools = [
      {
        type: "function",
        function: { ...raw, parameters: schema },
        ...raw,
        parameters: schema,
        strict: false,
      },
    ];
    const declared = [{ functionDeclarations: [{ ...raw, parametersJsonSchema: schema }] }];
    const refusals = [
      ...openaiToolProblems({ tools }),
      ...anthropicToolProblems({ tools: [{ ...raw, input_schema: schema }] }),
      ...googleToolProblems({ tools: declared }),
      ...compatibleToolProblems({ tools }),
    ];
    expect(refusals).not.toEqual([]);
    for (const { rig, problems } of FAMILIES) {
      const body = await bodyOf(rig, [toolOf(schema)]);
      expect(body).toContain('"name":"tool"');
      expect(problems(JSON.parse(body) as JsonObject)).toEqual([]);
    }
  });
});

describe("a rewritten schema", () => {
  it("keeps supported keywords", () => {
    const schema = object(
      { 名前: { type: "string", minLength: 1 }, count: { type: ["integer", "null"], default: 3 } },
      { required: ["名前"], additionalProperties: false },
    ) as JsonObject;
    expect(repairSchema(schema, "openai")).toEqual(schema);
    expect(repairSchema(schema, "strictest")).toEqual({
      type: "object",
      properties: {
        p_7ec262: { type: "string", description: 'Named "名前". (minLength: 1)' },
        count: { type: "integer", description: "(default: 3)" },
      },
      required: ["p_7ec262"],
    });
  });

  it("stays recursive if the provider supports recursion, and is truncated otherwise", () => {
    const schema = object({ child: { $ref: "#" }, name: { type: "string" } }) as JsonObject;
    expect(JSON.stringify(repairSchema(schema, "anthropic"))).toContain('{"$ref":"#/$defs/');
    expect(JSON.stringify(repairSchema(schema, "google"))).not.toContain("$ref");
  });
});

describe("arguments", () => {
  const schema = object({
    a: { type: "string" },
    b: object({ c: { type: "integer" } }),
    n: { type: ["string", "null"] },
  });
  it.each([
    [null, {}],
    ["", {}],
    ['{"a":"x"}', { a: "x" }],
    [
      { a: null, b: { c: null }, n: null },
      { b: {}, n: null },
    ],
    ["no JSON", "no JSON"],
    [[1], [1]],
  ])("map back to the original schema: %j", (sent, read) => {
    for (const dialect of DIALECTS)
      expect(restoreArguments(sent as JsonValue, schema as JsonObject, dialect)).toEqual(read);
  });
});

const LIMITS = {
  numRuns: RUNS,
  ...(process.env["COLLOQUY_SEED"] && { seed: Number(process.env["COLLOQUY_SEED"]) }),
};

describe.each(FAMILIES)("random tools for $rig", ({ rig, problems }) => {
  it("satisfy the provider's rules and are deterministic", { timeout: 600_000 }, async () => {
    const tools = fc.array(fc.tuple(oddSchema, fc.string({ maxLength: 5 }), oddText), {
      minLength: 1,
      maxLength: 3,
    });
    await fc.assert(
      fc.asyncProperty(tools, async (written) => {
        const definitions = written.map(([schema, name, description], index) =>
          toolOf(schema, `${index}${name.replaceAll(/[^a-zA-Z0-9_-]/g, "_")}`, description),
        );
        const body = await bodyOf(rig, definitions);
        expect(problems(JSON.parse(body) as JsonObject)).toEqual([]);
        expect(await bodyOf(rig, structuredClone(definitions))).toBe(body);
      }),
      LIMITS,
    );
  });
});

describe.each(DIALECTS)("arguments for the dialect %s", (dialect) => {
  it("map back to the original schema", () => {
    const ajv = new Ajv2020({ strict: false, ownProperties: true });
    fc.assert(
      fc.property(pair, ([schema, value]) => {
        expect(ajv.validate(schema, value)).toBe(true);
        const sent = toRewrittenForm(value, schema, repairSchema(schema, dialect), dialect);
        expect(restoreArguments(sent, schema, dialect)).toEqual(value);
      }),
      LIMITS,
    );
  });
});

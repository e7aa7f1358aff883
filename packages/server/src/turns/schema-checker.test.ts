import { afterEach, describe, expect, it } from "vitest";
import type { JsonObject, JsonValue } from "../core/json.ts";
import { SchemaChecker } from "./schema-checker.ts";

const PERSON: JsonObject = {
  type: "object",
  properties: { name: { type: "string" }, age: { type: "integer" }, size: { enum: ["S", "M"] } },
  required: ["name"],
  additionalProperties: false,
};

/** Takes exponential time to check, without errors that would fill the memory: every level is checked twice. */
function slow(): JsonObject {
  const levels = Array.from({ length: 32 }, (_, n): [string, JsonObject] => {
    const next = { $ref: n === 31 ? "#/$defs/end" : `#/$defs/l${n + 1}` };
    return [`l${n}`, { allOf: [next, next] }];
  });
  return {
    type: "object",
    $defs: { ...Object.fromEntries(levels), end: { type: "object" } },
    $ref: "#/$defs/l0",
  };
}

describe("schema checker", () => {
  const checker = new SchemaChecker();
  afterEach(() => checker.close());

  it("accepts JSON in the schema", async () => {
    expect(await checker.problem(PERSON)).toBeNull();
    expect(await checker.mismatch(PERSON, { name: "Ada", size: "S" })).toBeNull();
  });

  it.each<[string, JsonValue, string]>([
    ["an array", [], "it must be object"],
    [
      "several problems",
      { age: "1", size: "L", x: 1 },
      [
        "it must have required property 'name'",
        'it must NOT have additional properties ("x")',
        "/age must be integer",
        '/size must be equal to one of the allowed values (["S","M"])',
      ].join("; "),
    ],
  ])("describes an answer that is %s", async (_, answer, issue) => {
    expect(await checker.mismatch(PERSON, answer)).toBe(issue);
  });

  it("describes an invalid schema", async () => {
    expect(await checker.problem({ type: "object", properties: { a: { type: "int" } } })).toContain(
      "schema is invalid",
    );
    expect(await checker.problem({ type: "object", $ref: "#/$defs/gone" })).toContain("#/$defs/gone");
  });

  it("reads a schema in its own dialect", async () => {
    const tuple = { type: "object", properties: { a: { items: [{ type: "string" }] } } };
    expect(await checker.problem(tuple)).toContain("schema is invalid");
    const draft7 = { $schema: "http://json-schema.org/draft-07/schema#", ...tuple };
    expect(await checker.problem(draft7)).toBeNull();
    expect(await checker.mismatch(draft7, { a: [1] })).toBe("/a/0 must be string");
  });

  it("stops a check after 100 ms, and answers the next one", async () => {
    const [late, next] = await Promise.all([
      checker.mismatch(slow(), {}),
      checker.mismatch(PERSON, { name: "Ada" }),
    ]);
    expect(late).toBe("it takes longer than 100 ms to check");
    expect(next).toBeNull();
  });

  it("does not mix up schemas", async () => {
    for (let n = 0; n < 150; n += 1) {
      const schema = { type: "object", properties: { a: { const: n } } };
      expect(await checker.mismatch(schema, { a: n })).toBeNull();
      expect(await checker.mismatch(schema, { a: -1 })).toContain("/a must be equal to constant");
    }
  });

  it("checks any number of large schemas", async () => {
    const large = Array.from({ length: 5_000 }, () => ({}));
    for (let n = 0; n < 250; n += 1)
      expect(await checker.problem({ type: "object", title: `${n}`, default: large })).toBeNull();
  });

  it("checks recursive schemas, also one after the other", async () => {
    const list = (type: string) => ({ type: "object", properties: { value: { type }, next: { $ref: "#" } } });
    for (const _ of [1, 2]) {
      for (const [type, value] of [
        ["string", "a"],
        ["integer", 1],
      ] as const) {
        expect(await checker.mismatch(list(type), { next: { next: { value } } })).toBeNull();
        expect(await checker.mismatch(list(type), { next: { next: { value: true } } })).toBe(
          `/next/next/value must be ${type}`,
        );
      }
    }
  });

  it("restarts its thread after a crash, and finishes the other pending checks", async () => {
    const asked = checker.mismatch(PERSON, { name: "Ada" });
    const others = [checker.mismatch(PERSON, { name: "Bob" }), checker.mismatch(PERSON, {})];
    await checker.close();
    expect(await asked).toBe("it takes too much memory to check");
    expect(await Promise.all(others)).toEqual([null, "it must have required property 'name'"]);
    expect(await checker.mismatch(PERSON, { name: "Ada" })).toBeNull();
  });
});
